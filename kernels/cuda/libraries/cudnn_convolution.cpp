#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/cuda/convolution.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/libraries/cudnn.cuh"
#include "kernels/cuda/libraries/device.cuh"
#include "kernels/cuda/libraries/plans.hpp"
#include "kernels/cuda/tf32.hpp"

namespace diopi::cuda {

namespace {

/// The fastest algorithm that wants no more is taken.
constexpr size_t kMostWorkspace = size_t{1} << 30;

// Algorithms that sum the terms of each element, and no others, in one order. Those by Fourier or Winograd transforms
// mix neighbours: a NaN or a large number would spoil elements that it is no term of. ALGO_0 and ALGO_3 of the
// gradients add up in any order.
constexpr cudnnConvolutionFwdAlgo_t kForwardAlgorithms[] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                                                            CUDNN_CONVOLUTION_FWD_ALGO_GEMM};
constexpr cudnnConvolutionBwdDataAlgo_t kDataAlgorithms[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
constexpr cudnnConvolutionBwdFilterAlgo_t kFilterAlgorithms[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

template <auto kDestroy>
using Destroy = DestroyWith<Cudnn, kDestroy>;
using TensorDesc = std::unique_ptr<cudnnTensorStruct, Destroy<&Cudnn::tensor_destroy>>;
using FilterDesc = std::unique_ptr<cudnnFilterStruct, Destroy<&Cudnn::filter_destroy>>;
using ConvolutionDesc = std::unique_ptr<cudnnConvolutionStruct, Destroy<&Cudnn::convolution_destroy>>;

/// A pass over one shape, with the algorithm that was chosen for it.
struct ConvPlan {
    TensorDesc input, out;
    FilterDesc weight;
    ConvolutionDesc convolution;
    int algorithm = -1;  ///< of the pass's own enumeration; -1: there is none
    size_t workspace_bytes = 0;
    std::string refusal;  ///< what the library said instead, where it said anything

    void refuse(std::string text) { algorithm = -1, refusal = std::move(text); }
};

bool is_refusal(cudnnStatus_t status) {
#ifdef CUDNN_STATUS_CATEGORY  // since cuDNN 9 a refusal may name its reason
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
#else
    return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

/// The library's calls; after the first error none is made.
class Calls {
 public:
    explicit Calls(const Cudnn& dnn) : dnn_(dnn) {}

    template <class F, class... Args>
    void call(const char* name, F function, Args... args) {
        if (!ok()) return;
        status_ = function(args...);
        name_ = name;
    }
    [[nodiscard]] bool ok() const { return status_ == CUDNN_STATUS_SUCCESS; }
    /// The library cannot do what was asked; another layout or dtype it may do.
    [[nodiscard]] bool is_refused() const { return is_refusal(status_); }
    /// "cudnnConvolutionForward: CUDNN_STATUS_NOT_SUPPORTED".
    [[nodiscard]] std::string text() const { return std::string(name_) + ": " + dnn_.status_text(status_); }
    [[nodiscard]] diopiError_t error(std::string_view op) const {
        return ok() ? diopiSuccess : fail(diopiErrorOccurred, std::string(op) + ": " + text());
    }

 private:
    const Cudnn& dnn_;
    cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
    const char* name_ = "";
};

cudnnDataType_t type_of(Dtype dtype) {
    if (dtype == Dtype::float16) return CUDNN_DATA_HALF;
    if (dtype == Dtype::bfloat16) return CUDNN_DATA_BFLOAT16;
    return dtype == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

/// Tensor cores for half types; for float32 only those of TF32.
cudnnMathType_t math_of(Dtype dtype) {
    if (dtype == Dtype::float32) return is_in_tf32(dtype) ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
    return dtype == Dtype::float64 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

int narrow(int64_t x) { return static_cast<int>(x); }

TensorDesc tensor_desc(Calls& calls, const Cudnn& dnn, const Convolution& c, int64_t channels, int64_t height,
                       int64_t width) {
    cudnnTensorDescriptor_t made = nullptr;
    calls.call("cudnnCreateTensorDescriptor", dnn.tensor_create, &made);
    TensorDesc desc(made, {&dnn});
    const int64_t steps_plain[] = {channels * height * width, height * width, width, 1};
    const int64_t steps_last[] = {channels * height * width, 1, width * channels, channels};
    const auto& steps = c.channels_last ? steps_last : steps_plain;
    calls.call("cudnnSetTensor4dDescriptorEx", dnn.tensor_set, made, type_of(c.dtype), narrow(c.count),
               narrow(channels), narrow(height), narrow(width), narrow(steps[0]), narrow(steps[1]), narrow(steps[2]),
               narrow(steps[3]));
    return desc;
}

FilterDesc filter_desc(Calls& calls, const Cudnn& dnn, const Convolution& c) {
    cudnnFilterDescriptor_t made = nullptr;
    calls.call("cudnnCreateFilterDescriptor", dnn.filter_create, &made);
    FilterDesc desc(made, {&dnn});
    calls.call("cudnnSetFilter4dDescriptor", dnn.filter_set, made, type_of(c.dtype),
               c.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, narrow(c.out_channels),
               narrow(c.channels / c.groups), narrow(c.kernel[0]), narrow(c.kernel[1]));
    return desc;
}

ConvolutionDesc convolution_desc(Calls& calls, const Cudnn& dnn, const Convolution& c) {
    cudnnConvolutionDescriptor_t made = nullptr;
    calls.call("cudnnCreateConvolutionDescriptor", dnn.convolution_create, &made);
    ConvolutionDesc desc(made, {&dnn});
    calls.call("cudnnSetConvolution2dDescriptor", dnn.convolution_set, made, narrow(c.padding[0]), narrow(c.padding[1]),
               narrow(c.stride[0]), narrow(c.stride[1]), narrow(c.dilation[0]), narrow(c.dilation[1]),
               CUDNN_CROSS_CORRELATION, c.dtype == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    calls.call("cudnnSetConvolutionGroupCount", dnn.convolution_set_groups, made, narrow(c.groups));
    calls.call("cudnnSetConvolutionMathType", dnn.convolution_set_math, made, math_of(c.dtype));
    return desc;
}

/// Takes the first of the library's proposals that is allowed and whose workspace is not too large: get(count, &found,
/// proposals) fills them, measure(algorithm, &bytes) asks for the workspace.
template <class Perf, class Algorithm, class Get, class Measure>
void choose(Calls& calls, const Cudnn& dnn, const Convolution& c, std::span<const Algorithm> allowed, Get&& get,
            Measure&& measure, ConvPlan& plan) {
    constexpr int kProposals = 16;
    Perf proposals[kProposals] = {};
    int found = 0;
    calls.call("cudnnGetConvolution...Algorithm_v7", get, kProposals, &found, proposals);
    for (int i = 0; i < found && calls.ok() && plan.algorithm < 0; ++i) {
        const Perf& proposal = proposals[i];
        if (proposal.status != CUDNN_STATUS_SUCCESS || proposal.determinism != CUDNN_DETERMINISTIC) continue;
        if (std::ranges::find(allowed, proposal.algo) == allowed.end()) continue;
        const cudnnMathType_t math = c.dtype == Dtype::float32 ? math_of(c.dtype) : proposal.mathType;
        calls.call("cudnnSetConvolutionMathType", dnn.convolution_set_math, plan.convolution.get(), math);
        size_t bytes = 0;
        if (!calls.ok() || measure(proposal.algo, &bytes) != CUDNN_STATUS_SUCCESS || bytes > kMostWorkspace) continue;
        plan.algorithm = proposal.algo;
        plan.workspace_bytes = bytes;
    }
}

void choose(Calls& calls, const Cudnn& dnn, cudnnHandle_t handle, const Convolution& c, ConvPlan& p) {
    const auto x = p.input.get(), y = p.out.get();
    const auto w = p.weight.get();
    const auto v = p.convolution.get();
    switch (c.pass) {
        case ConvPass::kForward:
            return choose<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t>(
                calls, dnn, c, kForwardAlgorithms,
                [&](int n, int* found, auto* to) { return dnn.forward_algorithms(handle, x, w, v, y, n, found, to); },
                [&](auto algo, size_t* bytes) { return dnn.forward_workspace(handle, x, w, v, y, algo, bytes); }, p);
        case ConvPass::kInputGradient:
            return choose<cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t>(
                calls, dnn, c, kDataAlgorithms,
                [&](int n, int* found, auto* to) { return dnn.data_algorithms(handle, w, y, v, x, n, found, to); },
                [&](auto algo, size_t* bytes) { return dnn.data_workspace(handle, w, y, v, x, algo, bytes); }, p);
        case ConvPass::kWeightGradient:
            return choose<cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t>(
                calls, dnn, c, kFilterAlgorithms,
                [&](int n, int* found, auto* to) { return dnn.filter_algorithms(handle, x, y, v, w, n, found, to); },
                [&](auto algo, size_t* bytes) { return dnn.filter_workspace(handle, x, y, v, w, algo, bytes); }, p);
    }
}

PlanKey key_of(const Convolution& c) {
    return {current_device(),
            static_cast<int64_t>(c.pass),
            static_cast<int64_t>(c.dtype),
            is_in_tf32(c.dtype) ? 1 : 0,
            c.channels_last ? 1 : 0,
            c.count,
            c.channels,
            c.height,
            c.width,
            c.out_channels,
            c.out_height,
            c.out_width,
            c.groups,
            c.kernel[0],
            c.kernel[1],
            c.stride[0],
            c.stride[1],
            c.padding[0],
            c.padding[1],
            c.dilation[0],
            c.dilation[1]};
}

diopiError_t no_algorithm(std::string_view op, const Convolution& c, const ConvPlan& plan) {
    const std::string why = plan.refusal.empty() ? "" : " (" + plan.refusal + ")";
    return fail(diopiNoImplement, std::string(op) + ": cuDNN has no deterministic algorithm for this convolution of " +
                                      std::string(name(c.dtype)) + why + ": another dtype or layout may have one");
}

/// The calling thread's plan, made when it is new.
diopiError_t find_plan(std::string_view op, const Cudnn& dnn, cudnnHandle_t handle, const Convolution& c,
                       ConvPlan*& plan) {
    thread_local Plans<ConvPlan> plans;
    PlanKey key = key_of(c);
    plan = plans.find(key);
    if (plan == nullptr) {
        Calls calls(dnn);
        ConvPlan made;
        made.input = tensor_desc(calls, dnn, c, c.channels, c.height, c.width);
        made.out = tensor_desc(calls, dnn, c, c.out_channels, c.out_height, c.out_width);
        made.weight = filter_desc(calls, dnn, c);
        made.convolution = convolution_desc(calls, dnn, c);
        choose(calls, dnn, handle, c, made);
        if (calls.is_refused()) {
            made.refuse(calls.text());
        } else if (!calls.ok()) {
            return calls.error(op);
        }
        plan = &plans.add(std::move(key), std::move(made));
    }
    return plan->algorithm >= 0 ? diopiSuccess : no_algorithm(op, c, *plan);
}

}  // namespace

diopiError_t find_convolution(std::string_view op, const Convolution& c) {
    cudnnHandle_t handle = nullptr;
    diopiError_t error = diopiSuccess;
    const Cudnn* dnn = use_library<Cudnn>(op, handle, error);
    ConvPlan* plan = nullptr;
    return dnn == nullptr ? error : find_plan(op, *dnn, handle, c, plan);
}

diopiError_t convolve(diopiContextHandle_t ctx, std::string_view op, const Convolution& c, void* input, void* weight,
                      void* out, double beta) {
    cudnnHandle_t handle = nullptr;
    diopiError_t error = diopiSuccess;
    const Cudnn* dnn = use_library<Cudnn>(op, handle, error);
    if (dnn == nullptr) return error;
    ConvPlan* p = nullptr;
    error = find_plan(op, *dnn, handle, c, p);
    View workspace;
    if (error == diopiSuccess && p->workspace_bytes > 0) {
        const int64_t bytes[] = {static_cast<int64_t>(p->workspace_bytes)};
        error = require(ctx, bytes, Dtype::uint8, workspace);
    }
    if (error != diopiSuccess) return error;

    const float narrow_factors[] = {1, static_cast<float>(beta)};
    const double wide_factors[] = {1, beta};
    const bool is_wide = c.dtype == Dtype::float64;
    const void* one = is_wide ? static_cast<const void*>(&wide_factors[0]) : &narrow_factors[0];
    const void* old = is_wide ? static_cast<const void*>(&wide_factors[1]) : &narrow_factors[1];
    const auto x = p->input.get(), y = p->out.get();
    const auto w = p->weight.get();
    const auto v = p->convolution.get();
    Calls calls(*dnn);
    calls.call("cudnnSetStream", dnn->set_stream, handle, stream_of(ctx));
    switch (c.pass) {
        case ConvPass::kForward:
            calls.call("cudnnConvolutionForward", dnn->forward, handle, one, x, input, w, weight, v,
                       static_cast<cudnnConvolutionFwdAlgo_t>(p->algorithm), workspace.data, p->workspace_bytes, old, y,
                       out);
            break;
        case ConvPass::kInputGradient:
            calls.call("cudnnConvolutionBackwardData", dnn->backward_data, handle, one, w, weight, y, out, v,
                       static_cast<cudnnConvolutionBwdDataAlgo_t>(p->algorithm), workspace.data, p->workspace_bytes,
                       old, x, input);
            break;
        case ConvPass::kWeightGradient:
            calls.call("cudnnConvolutionBackwardFilter", dnn->backward_filter, handle, one, x, input, y, out, v,
                       static_cast<cudnnConvolutionBwdFilterAlgo_t>(p->algorithm), workspace.data, p->workspace_bytes,
                       old, w, weight);
            break;
    }
    if (!calls.is_refused()) return calls.error(op);
    p->refuse(calls.text());
    return no_algorithm(op, c, *p);
}

}  // namespace diopi::cuda
