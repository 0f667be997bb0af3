#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/cuda/conv_library.hpp"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/libraries/cudnn.cuh"
#include "kernels/cuda/libraries/device.cuh"
#include "kernels/cuda/libraries/plans.hpp"
#include "kernels/cuda/product/tf32.hpp"

namespace diopi::cuda {

using operands::kMostSides;
using operands::Sides;

namespace {

/// Chooses the fastest algorithm that needs no more.
constexpr size_t kMostWorkspace = size_t{1} << 30;

// Algorithms that sum only the terms of each element, in one order. Fourier and Winograd transforms mix neighbours: a
// NaN or a large number would change elements of which it is no term. ALGO_0 and ALGO_3 of the gradients sum in any
// order.
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

/// A pass over one shape with its algorithm.
struct ConvPlan {
    TensorDesc input, out;
    FilterDesc weight;
    ConvolutionDesc convolution;
    int algorithm = -1;  ///< a value of the pass's enumeration; -1: there is none
    size_t workspace_bytes = 0;
    std::string refusal;  ///< the library's reason, if it gave one

    void refuse(std::string text) { algorithm = -1, refusal = std::move(text); }
};

bool is_refusal(cudnnStatus_t status) {
#ifdef CUDNN_STATUS_CATEGORY  // since cuDNN 9 a refusal may contain its reason
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
#else
    return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

/// Makes the library's calls, none after the first error.
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
    /// The library does not support this layout or dtype; it may support another.
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

/// Tensor cores for half types; for float32 only with TF32.
cudnnMathType_t math_of(Dtype dtype) {
    if (dtype == Dtype::float32) return is_in_tf32(dtype) ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
    return dtype == Dtype::float64 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

/// The numbers of a convolution's sides as the library takes them: one side becomes two, of which the first has one
/// element.
class LibrarySides {
 public:
    explicit LibrarySides(const Convolution& c) : count_(c.shape.sides < 2 ? 2 : static_cast<int>(c.shape.sides)) {}

    [[nodiscard]] int count() const { return count_; }
    /// The numbers of `first`, then those of the sides.
    template <size_t kFirst>
    [[nodiscard]] std::array<int, kFirst + kMostSides> join(const std::array<int64_t, kFirst>& first,
                                                            const Sides& sides) const {
        std::array<int, kFirst + kMostSides> all{};
        std::ranges::transform(first, all.begin(), narrow);
        std::ranges::transform(sides.end() - count_, sides.end(), all.begin() + kFirst, narrow);
        return all;
    }
    [[nodiscard]] std::array<int, kMostSides> of(const Sides& sides) const { return join<0>({}, sides); }

 private:
    static int narrow(int64_t x) { return static_cast<int>(x); }

    int count_;
};

TensorDesc tensor_desc(Calls& calls, const Cudnn& dnn, const Convolution& c, int64_t channels, const Sides& sides) {
    cudnnTensorDescriptor_t made = nullptr;
    calls.call("cudnnCreateTensorDescriptor", dnn.tensor_create, &made);
    TensorDesc desc(made, {&dnn});
    const LibrarySides numbers(c);
    const int64_t lane = c.channels_last ? channels : 1, area = sides[0] * sides[1] * sides[2];
    const Sides steps{sides[1] * sides[2] * lane, sides[2] * lane, lane};
    const auto sizes = numbers.join<2>({c.shape.count, channels}, sides);
    const auto strides = numbers.join<2>({channels * area, c.channels_last ? 1 : area}, steps);
    calls.call("cudnnSetTensorNdDescriptor", dnn.tensor_set, made, type_of(c.dtype), 2 + numbers.count(), sizes.data(),
               strides.data());
    return desc;
}

FilterDesc filter_desc(Calls& calls, const Cudnn& dnn, const Convolution& c) {
    cudnnFilterDescriptor_t made = nullptr;
    calls.call("cudnnCreateFilterDescriptor", dnn.filter_create, &made);
    FilterDesc desc(made, {&dnn});
    const LibrarySides numbers(c);
    const auto sizes = numbers.join<2>({c.shape.out_channels, c.shape.group_in()}, c.shape.window.kernel);
    calls.call("cudnnSetFilterNdDescriptor", dnn.filter_set, made, type_of(c.dtype),
               c.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, 2 + numbers.count(), sizes.data());
    return desc;
}

ConvolutionDesc convolution_desc(Calls& calls, const Cudnn& dnn, const Convolution& c) {
    cudnnConvolutionDescriptor_t made = nullptr;
    calls.call("cudnnCreateConvolutionDescriptor", dnn.convolution_create, &made);
    ConvolutionDesc desc(made, {&dnn});
    const LibrarySides numbers(c);
    const operands::Window& w = c.shape.window;
    const auto padding = numbers.of(w.padding), stride = numbers.of(w.stride), dilation = numbers.of(w.dilation);
    calls.call("cudnnSetConvolutionNdDescriptor", dnn.convolution_set, made, numbers.count(), padding.data(),
               stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
               c.dtype == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    calls.call("cudnnSetConvolutionGroupCount", dnn.convolution_set_groups, made, static_cast<int>(c.shape.groups));
    calls.call("cudnnSetConvolutionMathType", dnn.convolution_set_math, made, math_of(c.dtype));
    return desc;
}

/// Takes the library's first proposal that is allowed and whose workspace is not too large: get(count, &found,
/// proposals) fills them, measure(algorithm, &bytes) gives the workspace.
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
    const operands::ConvShape& s = c.shape;
    PlanKey key{current_device(),
                static_cast<int64_t>(c.pass),
                static_cast<int64_t>(c.dtype),
                is_in_tf32(c.dtype) ? 1 : 0,
                c.channels_last ? 1 : 0,
                static_cast<int64_t>(s.sides),
                s.count,
                s.channels,
                s.out_channels,
                s.groups};
    for (const Sides* sides :
         {&s.in, &s.out, &s.window.kernel, &s.window.stride, &s.window.padding, &s.window.dilation}) {
        key.insert(key.end(), sides->begin(), sides->end());
    }
    return key;
}

diopiError_t no_algorithm(std::string_view op, const Convolution& c, const ConvPlan& plan) {
    const std::string why = plan.refusal.empty() ? "" : " (" + plan.refusal + ")";
    return fail(diopiNoImplement, std::string(op) + ": cuDNN has no deterministic algorithm for this convolution of " +
                                      std::string(name(c.dtype)) + why + ": another dtype or layout may have one");
}

/// The calling thread's plan, which is made at the first use.
diopiError_t find_plan(std::string_view op, const Cudnn& dnn, cudnnHandle_t handle, const Convolution& c,
                       ConvPlan*& plan) {
    thread_local Plans<ConvPlan> plans;
    PlanKey key = key_of(c);
    plan = plans.find(key);
    if (plan == nullptr) {
        Calls calls(dnn);
        ConvPlan made;
        made.input = tensor_desc(calls, dnn, c, c.shape.channels, c.shape.in);
        made.out = tensor_desc(calls, dnn, c, c.shape.out_channels, c.shape.out);
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
