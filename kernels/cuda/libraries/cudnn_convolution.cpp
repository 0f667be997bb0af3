#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/conv_library.hpp"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/libraries/cudnn.cuh"
#include "kernels/cuda/libraries/device.cuh"
#include "kernels/cuda/libraries/plans.hpp"
#include "kernels/cuda/libraries/workspace.hpp"
#include "kernels/cuda/product/tf32.hpp"

namespace diopi::cuda {

using operands::kMostSides;
using operands::Sides;

namespace {

/// The first engine that needs no more is taken.
constexpr int64_t kMostWorkspace = int64_t{1} << 30;
/// Engines that are looked at, of each kind of proposals.
constexpr int64_t kMostProposals = 32;

using Descriptor = std::unique_ptr<void, DestroyWith<Cudnn, &Cudnn::descriptor_destroy>>;

/// A pass over one shape with its engine.
struct ConvPlan {
    std::deque<Descriptor> parts;  ///< what `run` was made of
    Descriptor run;                ///< null: there is none
    size_t workspace_bytes = 0;
    std::string refusal;  ///< the library's reason, if it gave one

    void refuse(std::string text) { run.reset(), refusal = std::move(text); }
};

bool is_refusal(cudnnStatus_t status) {
#ifdef CUDNN_STATUS_CATEGORY  // since cuDNN 9 a refusal may contain its reason
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
#else
    return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

cudnnDataType_t type_of(Dtype dtype) {
    if (dtype == Dtype::float16) return CUDNN_DATA_HALF;
    if (dtype == Dtype::bfloat16) return CUDNN_DATA_BFLOAT16;
    return dtype == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}
/// The type of sums, and of the numbers that scale them.
cudnnDataType_t sum_type_of(Dtype dtype) { return dtype == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

constexpr cudnnBackendAttributeType_t kind_of(const int64_t*) { return CUDNN_TYPE_INT64; }
constexpr cudnnBackendAttributeType_t kind_of(const float*) { return CUDNN_TYPE_FLOAT; }
constexpr cudnnBackendAttributeType_t kind_of(const double*) { return CUDNN_TYPE_DOUBLE; }
constexpr cudnnBackendAttributeType_t kind_of(const bool*) { return CUDNN_TYPE_BOOLEAN; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnDataType_t*) { return CUDNN_TYPE_DATA_TYPE; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnConvolutionMode_t*) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnPointwiseMode_t*) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnBackendHeurMode_t*) { return CUDNN_TYPE_HEUR_MODE; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnBackendNumericalNote_t*) { return CUDNN_TYPE_NUMERICAL_NOTE; }
constexpr cudnnBackendAttributeType_t kind_of(const cudnnHandle_t*) { return CUDNN_TYPE_HANDLE; }

/// Makes the library's calls, none after the first error.
class Calls {
 public:
    explicit Calls(const Cudnn& dnn) : dnn_(dnn) {}

    [[nodiscard]] bool ok() const { return status_ == CUDNN_STATUS_SUCCESS; }
    /// The library does not support this layout or dtype; it may support another.
    [[nodiscard]] bool is_refused() const { return is_refusal(status_); }
    /// "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED".
    [[nodiscard]] std::string text() const { return std::string(name_) + ": " + dnn_.status_text(status_); }
    [[nodiscard]] diopiError_t error(std::string_view op) const {
        return ok() ? diopiSuccess : fail(diopiErrorOccurred, std::string(op) + ": " + text());
    }

    template <class F, class... Args>
    void call(const char* name, F function, Args... args) {
        if (!ok()) return;
        status_ = function(args...);
        name_ = name;
    }
    Descriptor create(cudnnBackendDescriptorType_t type) {
        cudnnBackendDescriptor_t made = nullptr;
        call("cudnnBackendCreateDescriptor", dnn_.descriptor_create, type, &made);
        return Descriptor(made, {&dnn_});
    }
    void finalize(const Descriptor& d) { call("cudnnBackendFinalize", dnn_.finalize, d.get()); }

    template <class T>
    void set(const Descriptor& d, cudnnBackendAttributeName_t name, std::span<const T> values) {
        set_as(d, name, kind_of(values.data()), values.size(), values.data());
    }
    template <class T>
    void set(const Descriptor& d, cudnnBackendAttributeName_t name, const T& value) {
        set(d, name, std::span<const T>(&value, 1));
    }
    /// Other descriptors as the value.
    void link(const Descriptor& d, cudnnBackendAttributeName_t name, std::span<void* const> to) {
        set_as(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, to.size(), to.data());
    }
    void link(const Descriptor& d, cudnnBackendAttributeName_t name, const Descriptor& to) {
        void* const one[] = {to.get()};
        link(d, name, one);
    }
    /// Addresses of data as the value.
    void point(const Descriptor& d, cudnnBackendAttributeName_t name, std::span<void* const> to) {
        set_as(d, name, CUDNN_TYPE_VOID_PTR, to.size(), to.data());
    }
    /// Fills `values`, at most; returns how many there are.
    template <class T>
    int64_t get(const Descriptor& d, cudnnBackendAttributeName_t name, std::span<T> values) {
        return get_as(d, name, kind_of(values.data()), values.size(), values.data());
    }
    /// Fills descriptors that were created.
    int64_t get_linked(const Descriptor& d, cudnnBackendAttributeName_t name, std::span<void*> to) {
        return get_as(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, to.size(), to.data());
    }

 private:
    void set_as(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind, size_t count,
                const void* values) {
        call("cudnnBackendSetAttribute", dnn_.attribute_set, d.get(), name, kind, static_cast<int64_t>(count), values);
    }
    int64_t get_as(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind,
                   size_t count, void* values) {
        int64_t found = 0;
        call("cudnnBackendGetAttribute", dnn_.attribute_get, d.get(), name, kind, static_cast<int64_t>(count), &found,
             values);
        return ok() ? std::min(found, static_cast<int64_t>(count)) : 0;
    }

    const Cudnn& dnn_;
    cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
    const char* name_ = "";
};

/// The names of a pass's tensors in its graph.
enum Uid : int64_t { kInputUid = 'x', kWeightUid = 'w', kOutUid = 'y', kBiasUid = 'b', kSumsUid = 's' };

/// A pass's operation, and its attributes.
struct Operation {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t convolution, input, weight, out, alpha, beta;
};
constexpr Operation kOperations[] = {
    // by ConvPass
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/// The numbers of a convolution's sides as the library takes them: one side becomes two, of which the first has one
/// element.
class LibrarySides {
 public:
    explicit LibrarySides(const Convolution& c) : count_(c.shape.sides < 2 ? 2 : c.shape.sides) {}

    /// The first two numbers, then those of the sides.
    [[nodiscard]] std::vector<int64_t> join(int64_t first, int64_t second, const Sides& sides) const {
        std::vector<int64_t> all{first, second};
        all.insert(all.end(), sides.end() - static_cast<std::ptrdiff_t>(count_), sides.end());
        return all;
    }
    [[nodiscard]] std::span<const int64_t> of(const Sides& sides) const { return std::span(sides).last(count_); }

 private:
    size_t count_;
};

/// Makes the graph of a pass. All that it makes stays in `parts`, which the graph's plans need.
class Graph {
 public:
    Graph(Calls& calls, const Convolution& c, std::deque<Descriptor>& parts) : calls_(calls), c_(c), parts_(parts) {}

    [[nodiscard]] const Descriptor& make(cudnnHandle_t handle) {
        const bool adds_bias = c_.addend == ConvAddend::kBias;
        const operands::ConvShape& s = c_.shape;
        const Descriptor& x = tensor(kInputUid, s.count, s.channels, s.in);
        const Descriptor& w = tensor(kWeightUid, s.out_channels, s.group_in(), s.window.kernel);
        const Descriptor& y = tensor(kOutUid, s.count, s.out_channels, s.out);
        const Descriptor& sums = adds_bias ? tensor(kSumsUid, s.count, s.out_channels, s.out) : y;
        std::vector<void*> operations{convolution(x, w, sums).get()};
        if (adds_bias) operations.push_back(addition(sums, tensor(kBiasUid, 1, s.out_channels, {1, 1, 1}), y).get());
        const Descriptor& graph = add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        calls_.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
        calls_.link(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
        calls_.finalize(graph);
        return graph;
    }

 private:
    const Descriptor& add(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(calls_.create(type)); }

    /// The sums to which a bias is added are no tensor in memory.
    const Descriptor& tensor(Uid uid, int64_t first, int64_t channels, const Sides& sides) {
        const Descriptor& made = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        const LibrarySides numbers(c_);
        const int64_t lane = c_.channels_last ? channels : 1, area = sides[0] * sides[1] * sides[2];
        const Sides steps{sides[1] * sides[2] * lane, sides[2] * lane, lane};
        const std::vector<int64_t> sizes = numbers.join(first, channels, sides);
        const std::vector<int64_t> strides = numbers.join(channels * area, c_.channels_last ? 1 : area, steps);
        const bool is_virtual = uid == kSumsUid;
        calls_.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, is_virtual ? sum_type_of(c_.dtype) : type_of(c_.dtype));
        calls_.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(sizes));
        calls_.set(made, CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(strides));
        calls_.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t{uid});
        calls_.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, static_cast<int64_t>(kConvAlignment));
        calls_.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
        calls_.finalize(made);
        return made;
    }
    const Descriptor& window() {
        const Descriptor& made = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        const LibrarySides numbers(c_);
        const operands::Window& w = c_.shape.window;
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sum_type_of(c_.dtype));
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(numbers.of(w.kernel).size()));
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, numbers.of(w.stride));
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, numbers.of(w.dilation));
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, numbers.of(w.padding));
        calls_.set(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, numbers.of(w.padding));
        calls_.finalize(made);
        return made;
    }
    const Descriptor& convolution(const Descriptor& x, const Descriptor& w, const Descriptor& y) {
        const Operation& names = kOperations[static_cast<size_t>(c_.pass)];
        const Descriptor& of_window = window();
        const Descriptor& made = add(names.type);
        calls_.link(made, names.convolution, of_window);
        calls_.link(made, names.input, x);
        calls_.link(made, names.weight, w);
        calls_.link(made, names.out, y);
        const double beta = c_.addend == ConvAddend::kOld ? 1 : 0;
        if (c_.dtype == Dtype::float64) {
            calls_.set(made, names.alpha, 1.0);
            calls_.set(made, names.beta, beta);
        } else {
            calls_.set(made, names.alpha, 1.0F);
            calls_.set(made, names.beta, static_cast<float>(beta));
        }
        calls_.finalize(made);
        return made;
    }
    const Descriptor& addition(const Descriptor& sums, const Descriptor& bias, const Descriptor& y) {
        const Descriptor& mode = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
        calls_.set(mode, CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
        calls_.set(mode, CUDNN_ATTR_POINTWISE_MATH_PREC, sum_type_of(c_.dtype));
        calls_.finalize(mode);
        const Descriptor& made = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        calls_.link(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
        calls_.link(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sums);
        calls_.link(made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
        calls_.link(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
        calls_.finalize(made);
        return made;
    }

    Calls& calls_;
    const Convolution& c_;
    std::deque<Descriptor>& parts_;
};

/// Whether an engine with that note may be taken. Fourier and Winograd transforms mix neighbours: a NaN or a large
/// number would change elements of which it is no term. Sums stay in the type of sums, and in one order. Tensor cores
/// round float32 factors, and so does what is converted down: only TF32 allows it.
bool is_allowed(cudnnBackendNumericalNote_t note, const Convolution& c) {
    switch (note) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            return c.dtype != Dtype::float32 || is_in_tf32(c.dtype);
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
            return false;
        default:
            return true;
    }
}

/// Whether an engine rounds sums to float16 without a note that says so: cuDNN 9.19 was seen to be 50 times the bound
/// off, docs/cuda.md.
bool rounds_sums(int64_t engine, const Convolution& c) {
    return engine == 2 && c.pass == ConvPass::kInputGradient && c.dtype == Dtype::float16;
}

bool is_allowed(const Cudnn& dnn, const Descriptor& config, const Convolution& c) {
    Calls calls(dnn);
    const Descriptor engine = calls.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    void* to[] = {engine.get()};
    (void)calls.get_linked(config, CUDNN_ATTR_ENGINECFG_ENGINE, to);
    std::array<int64_t, 1> index{};
    (void)calls.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::span<int64_t>(index));
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
    const int64_t count =
        calls.get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, std::span<cudnnBackendNumericalNote_t>(notes));
    return calls.ok() && !rounds_sums(index[0], c) &&
           std::all_of(notes.begin(), notes.begin() + count,
                       [&](cudnnBackendNumericalNote_t note) { return is_allowed(note, c); });
}

/// Engines for the graph, the library's first choice first.
std::vector<Descriptor> propose(const Cudnn& dnn, const Descriptor& graph, cudnnBackendHeurMode_t mode) {
    Calls calls(dnn);
    const Descriptor heuristics = calls.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    calls.link(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    calls.set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    calls.finalize(heuristics);
    std::vector<Descriptor> configs;
    std::vector<void*> to;
    for (int64_t i = 0; i < kMostProposals && calls.ok(); ++i) {
        configs.push_back(calls.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
        to.push_back(configs.back().get());
    }
    const int64_t found = calls.get_linked(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, to);
    configs.resize(static_cast<size_t>(found));
    return configs;
}

/// Makes the plan of an engine; false if the library refuses it, or if it needs too much.
bool take(const Cudnn& dnn, cudnnHandle_t handle, Descriptor config, ConvPlan& plan) {
    Calls calls(dnn);
    Descriptor run = calls.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    calls.set(run, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
    calls.link(run, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    calls.finalize(run);
    std::array<int64_t, 1> bytes{};
    (void)calls.get(run, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, std::span<int64_t>(bytes));
    if (!calls.ok()) plan.refusal = calls.text();
    if (!calls.ok() || bytes[0] > kMostWorkspace) return false;
    plan.parts.push_back(std::move(config));
    plan.run = std::move(run);
    plan.workspace_bytes = static_cast<size_t>(bytes[0]);
    return true;
}

/// Takes the library's first proposal that is allowed and whose workspace is not too large.
void choose(const Cudnn& dnn, cudnnHandle_t handle, const Convolution& c, const Descriptor& graph, ConvPlan& plan) {
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        for (Descriptor& config : propose(dnn, graph, mode)) {
            if (is_allowed(dnn, config, c) && take(dnn, handle, std::move(config), plan)) return;
        }
    }
}

PlanKey key_of(const Convolution& c) {
    const operands::ConvShape& s = c.shape;
    PlanKey key{current_device(),
                static_cast<int64_t>(c.pass),
                static_cast<int64_t>(c.addend),
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

diopiError_t no_engine(std::string_view op, const Convolution& c, const ConvPlan& plan) {
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
        const Descriptor& graph = Graph(calls, c, made.parts).make(handle);
        if (calls.is_refused()) {
            made.refuse(calls.text());
        } else if (!calls.ok()) {
            return calls.error(op);
        } else {
            choose(dnn, handle, c, graph, made);
        }
        plan = &plans.add(std::move(key), std::move(made));
    }
    return plan->run != nullptr ? diopiSuccess : no_engine(op, c, *plan);
}

}  // namespace

diopiError_t find_convolution(std::string_view op, const Convolution& c) {
    cudnnHandle_t handle = nullptr;
    diopiError_t error = diopiSuccess;
    const Cudnn* dnn = use_library<Cudnn>(op, handle, error);
    ConvPlan* plan = nullptr;
    return dnn == nullptr ? error : find_plan(op, *dnn, handle, c, plan);
}

diopiError_t convolve(diopiContextHandle_t ctx, std::string_view op, const Convolution& c, const ConvData& data) {
    cudnnHandle_t handle = nullptr;
    diopiError_t error = diopiSuccess;
    const Cudnn* dnn = use_library<Cudnn>(op, handle, error);
    if (dnn == nullptr) return error;
    ConvPlan* plan = nullptr;
    error = find_plan(op, *dnn, handle, c, plan);
    void* workspace = nullptr;
    if (error == diopiSuccess) error = require_workspace(ctx, plan->workspace_bytes, workspace);
    if (error != diopiSuccess) return error;

    const int64_t uids[] = {kInputUid, kWeightUid, kOutUid, kBiasUid};
    void* const addresses[] = {data.input, data.weight, data.out, data.bias};
    const size_t count = c.addend == ConvAddend::kBias ? 4 : 3;
    Calls calls(*dnn);
    calls.call("cudnnSetStream", dnn->set_stream, handle, stream_of(ctx));
    const Descriptor pack = calls.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span(uids).first(count));
    calls.point(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span(addresses).first(count));
    calls.point(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::span<void* const>(&workspace, 1));
    calls.finalize(pack);
    calls.call("cudnnBackendExecute", dnn->execute, handle, plan->run.get(), pack.get());
    if (!calls.is_refused()) return calls.error(op);
    plan->refuse(calls.text());
    return no_engine(op, c, *plan);
}

}  // namespace diopi::cuda
