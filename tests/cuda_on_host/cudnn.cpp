/// The part of cuDNN that the backend uses, on the host: graphs of one convolution of two or three sides, to which a
/// bias may be added. Tensors have five sizes: with two sides the third size, a depth, is 1.
#include "tests/cuda_on_host/library.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/libraries/handle.cuh"

struct cudnnContext {
    cudaStream_t stream;
};

namespace {

using cuda_on_host::refuse;

/// A descriptor of any type: the bytes of its attributes. Equal names of different descriptors differ.
struct Node {
    cudnnBackendDescriptorType_t type;
    std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes{};
    bool is_final = false;
    int engine = 0;  ///< of an engine, a configuration and a plan

    template <class T>
    [[nodiscard]] std::span<const T> all(cudnnBackendAttributeName_t name) const {
        const auto at = attributes.find(name);
        if (at == attributes.end()) return {};
        return {reinterpret_cast<const T*>(at->second.data()), at->second.size() / sizeof(T)};
    }
    template <class T>
    [[nodiscard]] T one(cudnnBackendAttributeName_t name, T missing = {}) const {
        const auto values = all<T>(name);
        return values.size() == 1 ? values[0] : missing;
    }
    /// The descriptor that an attribute names, or one without attributes.
    [[nodiscard]] const Node& linked(cudnnBackendAttributeName_t name) const {
        static const Node none{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
        const Node* to = one<const Node*>(name);
        return to == nullptr ? none : *to;
    }
};

Node& of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Node*>(descriptor); }

/// The workspace of engines that need one; the same for all shapes.
constexpr int64_t kWorkspace = 4096;

cudnnStatus_t bad(const char* function, const char* why) { return refuse(CUDNN_STATUS_BAD_PARAM, function, why); }

cudaDataType_t type_of(cudnnDataType_t type) {
    if (type == CUDNN_DATA_HALF) return CUDA_R_16F;
    if (type == CUDNN_DATA_BFLOAT16) return CUDA_R_16BF;
    return type == CUDNN_DATA_DOUBLE ? CUDA_R_64F : CUDA_R_32F;
}

#ifdef CUDNN_STATUS_CATEGORY
constexpr cudnnStatus_t kNotThisLayout = CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
#else
constexpr cudnnStatus_t kNotThisLayout = CUDNN_STATUS_NOT_SUPPORTED;
#endif

/// A convolution's numbers, from its descriptors.
struct Tensor {
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    int64_t uid = 0, alignment = 0;
    bool is_virtual = false, channels_last = false;
    int sizes[5] = {1, 1, 1, 1, 1}, steps[5] = {};
};
struct Window {
    int padding[3] = {0, 0, 0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    int groups = 1;
};

/// Strides of a packed tensor of those sizes.
void packed_steps(const int (&sizes)[5], bool channels_last, int (&steps)[5]) {
    const int lane = channels_last ? sizes[1] : 1, plane = sizes[3] * sizes[4], area = sizes[2] * plane;
    const int packed[] = {sizes[1] * area, channels_last ? 1 : area, plane * lane, sizes[4] * lane, lane};
    std::copy_n(packed, 5, steps);
}

bool is_packed(const Tensor& x, bool channels_last) {
    int steps[5];
    packed_steps(x.sizes, channels_last, steps);
    for (int d = 0; d < 5; ++d) {
        if (x.sizes[d] != 1 && x.steps[d] != steps[d]) return false;
    }
    return true;
}

/// `numbers` of two or three sides, after `lead` others, as those of three: with two sides a value is inserted before.
template <size_t kTo>
void spread(std::span<const int64_t> numbers, size_t lead, int inserted, int (&to)[kTo]) {
    size_t at = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (i == lead && numbers.size() < kTo) to[at++] = inserted;
        to[at++] = static_cast<int>(numbers[i]);
    }
}

Tensor tensor_of(const Node& node) {
    Tensor x;
    x.type = node.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_INT8);
    x.uid = node.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    x.alignment = node.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    x.is_virtual = node.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    spread(node.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), 2, 1, x.sizes);
    spread(node.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES), 2, 0, x.steps);
    x.channels_last = is_packed(x, true) && !is_packed(x, false);
    return x;
}

/// A tensor of five sizes in the compute type, row-major.
template <class C>
struct Values {
    int sizes[5], steps[5];
    cudaDataType_t type;
    std::vector<C> at;

    explicit Values(const Tensor& x) : type(type_of(x.type)) {
        std::copy_n(x.sizes, 5, sizes);
        std::copy_n(x.steps, 5, steps);
        at.resize(static_cast<size_t>(sizes[0]) * static_cast<size_t>(sizes[1]) * area());
    }
    [[nodiscard]] size_t area() const {
        return static_cast<size_t>(sizes[2]) * static_cast<size_t>(sizes[3]) * static_cast<size_t>(sizes[4]);
    }
    template <class F>
    void for_each(F&& f) {
        for (size_t i = 0; i < at.size(); ++i) {
            int64_t place = 0;
            auto rest = static_cast<int64_t>(i);
            for (int d = 4; d >= 0; --d) {
                place += rest % sizes[d] * steps[d];
                rest /= sizes[d];
            }
            f(at[i], place);
        }
    }
    void load(const void* data, bool is_tf32) {
        for_each([&](C& value, int64_t place) {
            value = static_cast<C>(cuda_on_host::read_element(data, place, type));
            if (is_tf32) value = static_cast<C>(cuda_on_host::to_tf32(static_cast<float>(value)));
        });
    }
    void blend(void* data, C beta) {
        for_each([&](C& value, int64_t place) {
            C result = value;
            if (beta != 0) result += beta * static_cast<C>(cuda_on_host::read_element(data, place, type));
            cuda_on_host::write_element(data, place, type, result);
        });
    }
    C* plane(int n, int c) {
        return at.data() + (static_cast<size_t>(n) * static_cast<size_t>(sizes[1]) + static_cast<size_t>(c)) * area();
    }
};

/// Calls f(input plane, weight, output plane) for each pair of channels and each weight between them, then
/// along(x, y, count) for each row under it: the elements are x[i * stride] and y[i].
template <class C, class Along>
void for_each_row(const Window& v, Values<C>& x, Values<C>& w, Values<C>& y, Along&& along) {
    const int group_out = w.sizes[0] / v.groups;
    for (int n = 0; n < x.sizes[0]; ++n) {
        for (int k = 0; k < w.sizes[0]; ++k) {
            for (int c = 0; c < w.sizes[1]; ++c) {
                C* input = x.plane(n, k / group_out * w.sizes[1] + c);
                C* output = y.plane(n, k);
                C* weight = w.plane(k, c);
                for (int tap = 0; tap < static_cast<int>(w.area()); ++tap) {
                    const int deep = tap / (w.sizes[4] * w.sizes[3]) * v.dilation[0] - v.padding[0];
                    const int down = tap / w.sizes[4] % w.sizes[3] * v.dilation[1] - v.padding[1];
                    const int right = tap % w.sizes[4] * v.dilation[2] - v.padding[2];
                    int first = 0, last = y.sizes[4];
                    while (first < last && first * v.stride[2] + right < 0) ++first;
                    while (last > first && (last - 1) * v.stride[2] + right >= x.sizes[4]) --last;
                    for (int row = 0; row < y.sizes[2] * y.sizes[3]; ++row) {
                        const int layer = row / y.sizes[3] * v.stride[0] + deep;
                        const int from = row % y.sizes[3] * v.stride[1] + down;
                        if (layer < 0 || layer >= x.sizes[2] || from < 0 || from >= x.sizes[3]) continue;
                        along(input + (int64_t{layer} * x.sizes[3] + from) * x.sizes[4] + first * v.stride[2] + right,
                              output + int64_t{row} * y.sizes[4] + first, weight[tap], last - first);
                    }
                }
            }
        }
    }
}

enum class Pass { kForward, kData, kFilter };

/// The attributes of a pass's operation.
struct Names {
    cudnnBackendDescriptorType_t type;
    Pass pass;
    cudnnBackendAttributeName_t window, input, weight, out, alpha, beta;
};
constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Pass::kForward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Pass::kData,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, Pass::kFilter,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/// The convolution that a graph computes.
struct Problem {
    Pass pass = Pass::kForward;
    Tensor x, w, y, bias;  ///< a bias of uid 0: there is none
    Window window;
    double alpha = 0, beta = 0;
    std::string error;  ///< why the graph is wrong; empty if it is not
};

/// The reason why a convolution is wrong, or nothing.
std::string check(const Problem& p) {
    const auto& [x, w, y] = std::tie(p.x, p.w, p.y);
    const Window& v = p.window;
    if (x.type != w.type || x.type != y.type) return "types differ";
    if (v.compute != (x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)) return "the compute type";
    if (w.sizes[1] < 1 || x.sizes[1] % w.sizes[1] != 0 || w.sizes[0] % v.groups != 0) return "channels do not fit";
    if (y.sizes[0] != x.sizes[0] || y.sizes[1] != w.sizes[0]) return "the output's images or channels do not fit";
    for (int side = 0; side < 3; ++side) {
        if (v.padding[side] < 0 || std::min(v.stride[side], v.dilation[side]) < 1) return "a number of the window";
        const int room = x.sizes[2 + side] + 2 * v.padding[side] - v.dilation[side] * (w.sizes[2 + side] - 1) - 1;
        if (room < 0 || y.sizes[2 + side] != room / v.stride[side] + 1) return "the output's sides do not fit";
    }
    for (const Tensor* each : {&x, &w, &y}) {
        if (each->uid == 0 || each->alignment < 1 || each->is_virtual) return "a tensor has no name or no alignment";
        if (*std::ranges::min_element(each->sizes) < 1) return "a size below 1";
    }
    if (p.bias.uid != 0 && p.bias.sizes[1] != y.sizes[1]) return "the bias does not fit";
    return "";
}

Problem problem_of(const Node& graph) {
    Problem p;
    const auto operations = graph.all<const Node*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (graph.one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) == nullptr) p.error = "no handle";
    if (operations.empty() || operations.size() > 2) p.error = "neither one nor two operations";
    if (!p.error.empty()) return p;
    const Node& operation = *operations[0];
    const auto names = std::ranges::find(kNames, operation.type, &Names::type);
    if (names == std::end(kNames)) return p.error = "no convolution", p;
    p.pass = names->pass;
    p.x = tensor_of(operation.linked(names->input)), p.w = tensor_of(operation.linked(names->weight));
    p.y = tensor_of(operation.linked(names->out));
    const Node& window = operation.linked(names->window);
    Window& v = p.window;
    v.compute = window.one(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_INT8);
    v.groups = p.w.sizes[1] < 1 ? 1 : p.x.sizes[1] / p.w.sizes[1];
    spread(window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), 0, 0, v.padding);
    spread(window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), 0, 1, v.stride);
    spread(window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS), 0, 1, v.dilation);
    if (window.one(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION) != CUDNN_CROSS_CORRELATION)
        p.error = "the mode";
    if (!std::ranges::equal(window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                            window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS))) {
        p.error = "the paddings";
    }
    const bool is_wide = p.x.type == CUDNN_DATA_DOUBLE;
    p.alpha = is_wide ? operation.one<double>(names->alpha) : operation.one<float>(names->alpha);
    p.beta = is_wide ? operation.one<double>(names->beta, -1) : operation.one<float>(names->beta, -1);
    if (p.alpha != 1 || p.beta < 0) p.error = "alpha or beta";
    if (operations.size() == 2) {
        const Node& sum = *operations[1];
        const Node& mode = sum.linked(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        if (mode.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_MUL) != CUDNN_POINTWISE_ADD) p.error = "no addition";
        const Tensor made = tensor_of(sum.linked(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
        if (!p.y.is_virtual || made.uid != p.y.uid || p.beta != 0) p.error = "the sums are no operand of the addition";
        p.bias = tensor_of(sum.linked(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
        p.y = tensor_of(sum.linked(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    }
    if (p.error.empty()) p.error = check(p);
    return p;
}

/// Whether the test refuses such convolutions at that step: "nhwc" or "half", then "describe", "plan" or "run".
bool is_refused(const Problem& p, const std::string& step) {
    const char* refused = std::getenv("CUDA_ON_HOST_REFUSES");
    if (refused == nullptr) return false;
    const bool is_half = p.x.type == CUDNN_DATA_HALF || p.x.type == CUDNN_DATA_BFLOAT16;
    const bool is_last = p.x.channels_last || p.w.channels_last || p.y.channels_last;
    return (is_half && refused == "half:" + step) || (is_last && refused == "nhwc:" + step);
}

/// All tensors must be packed in the same order, and double not with channels last.
bool is_supported(const Problem& p) {
    const bool last = p.x.channels_last || p.w.channels_last || p.y.channels_last;
    return is_packed(p.x, last) && is_packed(p.w, last) && is_packed(p.y, last) &&
           !(last && p.x.type == CUDNN_DATA_DOUBLE);
}

/// An engine as the library describes it; those that must not be taken come first.
struct Engine {
    int64_t index;
    std::vector<cudnnBackendNumericalNote_t> notes;
    int64_t workspace;
};
const std::vector<Engine>& engines() {
    static const std::vector<Engine> all{
        {2, {}, 0},
        {10, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, 0},
        {11, {CUDNN_NUMERICAL_NOTE_FFT}, 0},
        {12, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0},
        {13, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 0},
        {14, {}, int64_t{2} << 30},
        {15, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 0},
        {16, {}, kWorkspace}};
    return all;
}
constexpr int kRoundsSums = 0, kFirstAllowed = 5, kTensorCores = 6, kPlain = 7;

/// The engine whose notes do not say that it rounds sums is for that pass and dtype alone.
bool has_engine(const Problem& p, int engine) {
    return engine != kRoundsSums || (p.pass == Pass::kData && p.x.type == CUDNN_DATA_HALF);
}

template <class C>
void convolve(const Problem& p, bool is_tf32, const void* x_data, const void* w_data, const void* y_data,
              const void* bias_data) {
    Values<C> x(p.x), w(p.w), y(p.y);
    if (p.pass != Pass::kData) x.load(x_data, is_tf32);
    if (p.pass != Pass::kFilter) w.load(w_data, is_tf32);
    if (p.pass != Pass::kForward) y.load(y_data, is_tf32);
    const int stride = p.window.stride[2];
    for_each_row(p.window, x, w, y, [&](C* from, C* to, C& weight, int count) {
        if (p.pass == Pass::kForward) {
            for (int i = 0; i < count; ++i) to[i] += from[i * stride] * weight;
        } else if (p.pass == Pass::kData) {
            for (int i = 0; i < count; ++i) from[i * stride] += to[i] * weight;
        } else {
            C sum = 0;
            for (int i = 0; i < count; ++i) sum += from[i * stride] * to[i];
            weight += sum;
        }
    });
    if (p.bias.uid != 0) {
        for (int n = 0; n < p.y.sizes[0]; ++n) {
            for (int k = 0; k < p.y.sizes[1]; ++k) {
                const auto added = static_cast<C>(cuda_on_host::read_element(bias_data, k, type_of(p.bias.type)));
                for (size_t i = 0; i < y.area(); ++i) y.plane(n, k)[i] += added;
            }
        }
    }
    const C old = static_cast<C>(p.beta);
    if (p.pass == Pass::kForward) y.blend(const_cast<void*>(y_data), old);
    if (p.pass == Pass::kData) x.blend(const_cast<void*>(x_data), old);
    if (p.pass == Pass::kFilter) w.blend(const_cast<void*>(w_data), old);
}

/// The address that a call gives for a tensor; null if there is none, or if it is less aligned than described.
const void* address_of(const Node& pack, const Tensor& x) {
    const auto uids = pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto addresses = pack.all<const void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const auto at = std::ranges::find(uids, x.uid);
    if (at == uids.end() || addresses.size() != uids.size()) return nullptr;
    const void* address = addresses[static_cast<size_t>(at - uids.begin())];
    return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(x.alignment) == 0 ? address : nullptr;
}

cudnnStatus_t execute(const Node& plan, const Node& pack) {
    constexpr const char* kName = "cudnnBackendExecute";
    const Node& graph = plan.linked(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                            .linked(CUDNN_ATTR_ENGINECFG_ENGINE)
                            .linked(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    const Problem p = problem_of(graph);
    if (!p.error.empty()) return bad(kName, p.error.c_str());
    if (is_refused(p, "run")) return refuse(kNotThisLayout, kName, "the test refuses it");
    if (plan.engine < kFirstAllowed) return bad(kName, "an engine that must not be taken");
    const void *x = address_of(pack, p.x), *w = address_of(pack, p.w), *y = address_of(pack, p.y);
    const void* bias = p.bias.uid == 0 ? nullptr : address_of(pack, p.bias);
    if (x == nullptr || w == nullptr || y == nullptr || (p.bias.uid != 0 && bias == nullptr)) {
        return bad(kName, "a tensor is missing, or less aligned than described");
    }
    const auto workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    const auto bytes = static_cast<size_t>(engines()[static_cast<size_t>(plan.engine)].workspace);
    if (bytes > 0 && (workspace == nullptr || reinterpret_cast<uintptr_t>(workspace) % 256 != 0)) {
        return bad(kName, "the workspace is missing or not aligned");
    }
    if (bytes > 0) std::memset(workspace, 0xa5, bytes);
    const bool is_tf32 = p.x.type == CUDNN_DATA_FLOAT && plan.engine == kTensorCores;
    const auto work = p.x.type == CUDNN_DATA_DOUBLE ? convolve<double> : convolve<float>;
    work(p, is_tf32, x, w, y, bias);
    return CUDNN_STATUS_SUCCESS;
}

/// The size in bytes of one value of this type.
size_t size_of(cudnnBackendAttributeType_t type) {
    switch (type) {
        case CUDNN_TYPE_BOOLEAN:
            return sizeof(bool);
        case CUDNN_TYPE_FLOAT:
        case CUDNN_TYPE_DATA_TYPE:
        case CUDNN_TYPE_CONVOLUTION_MODE:
        case CUDNN_TYPE_POINTWISE_MODE:
        case CUDNN_TYPE_HEUR_MODE:
        case CUDNN_TYPE_NUMERICAL_NOTE:
            return 4;
        default:
            return 8;
    }
}

cudnnStatus_t finalize(Node& node) {
    constexpr const char* kName = "cudnnBackendFinalize";
    if (node.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        const Problem p = problem_of(node);
        if (!p.error.empty()) return bad(kName, p.error.c_str());
        if (is_refused(p, "describe")) return refuse(kNotThisLayout, kName, "the test refuses it");
    }
    if (node.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        const Node& engine = node.linked(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).linked(CUDNN_ATTR_ENGINECFG_ENGINE);
        const Problem p = problem_of(engine.linked(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
        if (!is_supported(p) || !has_engine(p, engine.engine) || is_refused(p, "plan")) {
            return refuse(kNotThisLayout, kName, "the engine does not take these layouts, or the test refuses it");
        }
        node.engine = engine.engine;
    }
    node.is_final = true;
    return CUDNN_STATUS_SUCCESS;
}

/// Fills descriptors with all engines: the tensor cores' and the plain one are for when nothing else is left.
int64_t propose(const Node& heuristics, int64_t wanted, void* const* configs) {
    const bool is_last = heuristics.one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A) == CUDNN_HEUR_MODE_FALLBACK;
    const int first = is_last ? kTensorCores : 0, end = is_last ? kPlain + 1 : kTensorCores;
    for (int engine = first; engine < end && engine - first < wanted; ++engine) {
        auto* made = new Node{CUDNN_BACKEND_ENGINE_DESCRIPTOR};  // lives as long as the process, like the library's own
        made->engine = engine;
        made->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] =
            heuristics.attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        std::vector<std::byte> link(sizeof made);
        std::memcpy(link.data(), &made, sizeof made);
        of(configs[engine - first]).attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = link;
    }
    return std::min<int64_t>(wanted, end - first);
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    *handle = new cudnnContext{};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
    return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
    *made = new Node{type};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
    delete static_cast<Node*>(descriptor);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    if (of(descriptor).is_final) return bad("cudnnBackendSetAttribute", "the descriptor is final");
    if (count < 1 || values == nullptr) return bad("cudnnBackendSetAttribute", "no value");
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        for (int64_t i = 0; i < count; ++i) {
            const Node& to = *static_cast<Node* const*>(values)[i];
            const bool is_config = to.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;  // the library made it
            if (!to.is_final && !is_config) return bad("cudnnBackendSetAttribute", "a descriptor is not final");
        }
    }
    const auto* bytes = static_cast<const std::byte*>(values);
    of(descriptor).attributes[name] = {bytes, bytes + static_cast<size_t>(count) * size_of(type)};
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t* count, void* values) {
    const Node& node = of(descriptor);
    *count = 1;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        *count = propose(node, wanted, static_cast<void* const*>(values));
    } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
        of(static_cast<void* const*>(values)[0]) = node.linked(name);
    } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
        *static_cast<int64_t*>(values) = engines()[static_cast<size_t>(node.engine)].index;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
        const auto& notes = engines()[static_cast<size_t>(node.engine)].notes;
        *count = static_cast<int64_t>(notes.size());
        std::ranges::copy(notes, static_cast<cudnnBackendNumericalNote_t*>(values));
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *static_cast<int64_t*>(values) = engines()[static_cast<size_t>(node.engine)].workspace;
    } else {
        return bad("cudnnBackendGetAttribute", "an unknown attribute");
    }
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) { return finalize(of(descriptor)); }
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    if (handle == nullptr || !of(plan).is_final || !of(pack).is_final) return bad("cudnnBackendExecute", "not final");
    return execute(of(plan), of(pack));
}

}  // extern "C"

namespace cuda_on_host {

const Library& cudnn_library() {
#define ENTRY(name) \
    { #name, reinterpret_cast < void*>(&name) }
    static const LibraryFunction functions[] = {
        ENTRY(cudnnCreate),
        ENTRY(cudnnDestroy),
        ENTRY(cudnnSetStream),
        ENTRY(cudnnGetErrorString),
        ENTRY(cudnnBackendCreateDescriptor),
        ENTRY(cudnnBackendDestroyDescriptor),
        ENTRY(cudnnBackendSetAttribute),
        ENTRY(cudnnBackendGetAttribute),
        ENTRY(cudnnBackendFinalize),
        ENTRY(cudnnBackendExecute),
    };
#undef ENTRY
    static const Library library{"libcudnn.so." DIOPI_TEXT(CUDNN_MAJOR), functions};
    return library;
}

}  // namespace cuda_on_host
#else

namespace cuda_on_host {

const Library& cudnn_library() {
    static const Library library;
    return library;
}

}  // namespace cuda_on_host
#endif
