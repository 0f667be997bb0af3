/// The part of cuDNN that the backend uses, on the host: its older interface for convolutions of two and three sides.
/// Descriptors have five sizes: with two sides the third size, a depth, is 1.
#include "tests/cuda_on_host/library.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/cuda/libraries/handle.cuh"

struct cudnnTensorStruct {
    cudnnDataType_t type;
    int sizes[5], steps[5];
};
struct cudnnFilterStruct {
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int sizes[5];
};
struct cudnnConvolutionStruct {
    int padding[3], stride[3], dilation[3];
    cudnnDataType_t compute;
    int groups = 1;
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnContext {
    cudaStream_t stream;
};

namespace {

using cuda_on_host::refuse;

/// The workspace of algorithms that need one; the same for all shapes.
constexpr size_t kWorkspace = 4096;

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

/// Whether the test refuses channels-last layouts at that step: "describe", "propose" or "run".
bool refuses_last(std::string_view step) {
    const char* refused = std::getenv("CUDA_ON_HOST_REFUSES_NHWC");
    return refused != nullptr && step == refused;
}

/// Strides of a packed tensor of those sizes.
void packed_steps(const int (&sizes)[5], bool channels_last, int (&steps)[5]) {
    const int lane = channels_last ? sizes[1] : 1, plane = sizes[3] * sizes[4], area = sizes[2] * plane;
    const int packed[] = {sizes[1] * area, channels_last ? 1 : area, plane * lane, sizes[4] * lane, lane};
    std::copy_n(packed, 5, steps);
}

bool is_packed(const cudnnTensorStruct& x, bool channels_last) {
    int steps[5];
    packed_steps(x.sizes, channels_last, steps);
    for (int d = 0; d < 5; ++d) {
        if (x.sizes[d] != 1 && x.steps[d] != steps[d]) return false;
    }
    return true;
}

/// The reason why a call is wrong, or null.
const char* check(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnConvolutionStruct& v,
                  const cudnnTensorStruct& y) {
    if (x.type != w.type || x.type != y.type) return "types differ";
    if (v.compute != (x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)) return "the compute type";
    if (x.sizes[1] != w.sizes[1] * v.groups || w.sizes[0] % v.groups != 0) return "channels and groups do not fit";
    if (y.sizes[0] != x.sizes[0] || y.sizes[1] != w.sizes[0]) return "the output's images or channels do not fit";
    for (int side = 0; side < 3; ++side) {
        const int room = x.sizes[2 + side] + 2 * v.padding[side] - v.dilation[side] * (w.sizes[2 + side] - 1) - 1;
        if (room < 0 || y.sizes[2 + side] != room / v.stride[side] + 1) return "the output's sides do not fit";
    }
    if (v.math == CUDNN_FMA_MATH && x.type != CUDNN_DATA_FLOAT) return "FMA_MATH is for float";
    return nullptr;
}

/// Whether the algorithms below take the layouts: all must be packed in the same order, and double not with channels
/// last.
bool is_supported(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnTensorStruct& y) {
    const bool last = w.format == CUDNN_TENSOR_NHWC;
    return is_packed(x, last) && is_packed(y, last) && !(last && x.type == CUDNN_DATA_DOUBLE);
}

/// A tensor of five sizes in the compute type, row-major.
template <class C>
struct Values {
    int sizes[5], steps[5];
    cudaDataType_t type;
    std::vector<C> at;

    Values(const int (&of_sizes)[5], const int (&of_steps)[5], cudnnDataType_t of_type) : type(type_of(of_type)) {
        std::copy_n(of_sizes, 5, sizes);
        std::copy_n(of_steps, 5, steps);
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
    void blend(void* data, C alpha, C beta) {
        for_each([&](C& value, int64_t place) {
            C result = alpha * value;
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
void for_each_row(const cudnnConvolutionStruct& v, Values<C>& x, Values<C>& w, Values<C>& y, Along&& along) {
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

template <class C>
void convolve(Pass pass, const cudnnConvolutionStruct& v, const cudnnTensorStruct& of_x, const void* x_data,
              const cudnnFilterStruct& of_w, const void* w_data, const cudnnTensorStruct& of_y, const void* y_data,
              const void* alpha, const void* beta) {
    int w_steps[5];
    packed_steps(of_w.sizes, of_w.format == CUDNN_TENSOR_NHWC, w_steps);
    Values<C> x(of_x.sizes, of_x.steps, of_x.type), w(of_w.sizes, w_steps, of_w.type),
        y(of_y.sizes, of_y.steps, of_y.type);
    const bool is_tf32 = of_x.type == CUDNN_DATA_FLOAT && v.math != CUDNN_FMA_MATH;
    if (pass != Pass::kData) x.load(x_data, is_tf32);
    if (pass != Pass::kFilter) w.load(w_data, is_tf32);
    if (pass != Pass::kForward) y.load(y_data, is_tf32);
    const int stride = v.stride[2];
    for_each_row(v, x, w, y, [&](C* from, C* to, C& weight, int count) {
        if (pass == Pass::kForward) {
            for (int i = 0; i < count; ++i) to[i] += from[i * stride] * weight;
        } else if (pass == Pass::kData) {
            for (int i = 0; i < count; ++i) from[i * stride] += to[i] * weight;
        } else {
            C sum = 0;
            for (int i = 0; i < count; ++i) sum += from[i * stride] * to[i];
            weight += sum;
        }
    });
    const C one = *static_cast<const C*>(alpha), old = *static_cast<const C*>(beta);
    if (pass == Pass::kForward) y.blend(const_cast<void*>(y_data), one, old);
    if (pass == Pass::kData) x.blend(const_cast<void*>(x_data), one, old);
    if (pass == Pass::kFilter) w.blend(const_cast<void*>(w_data), one, old);
}

/// An algorithm of a pass in the form of the proposals.
struct Described {
    int algorithm;
    bool is_deterministic;
    size_t workspace;
};
constexpr Described kForward[] = {{CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, true, 0},
                                  {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, true, kWorkspace},
                                  {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, true, 0}};
constexpr Described kData[] = {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, false, 0},
                               {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, true, kWorkspace}};
constexpr Described kFilter[] = {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, false, 0},
                                 {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, true, kWorkspace}};

template <class Perf, class Descriptions>
cudnnStatus_t propose(const char* function, const Descriptions& all, const cudnnTensorStruct& x,
                      const cudnnFilterStruct& w, const cudnnConvolutionStruct& v, const cudnnTensorStruct& y,
                      int wanted, int* found, Perf* results) {
    *found = 0;
    if (wanted < 1 || results == nullptr) return bad(function, "no space for results");
    if (const char* why = check(x, w, v, y); why != nullptr) return bad(function, why);
    if (w.format == CUDNN_TENSOR_NHWC && refuses_last("propose")) {
        return refuse(kNotThisLayout, function, "the test refuses channels-last layouts");
    }
    for (const Described& each : all) {
        if (*found == wanted) break;
        Perf& perf = results[(*found)++];
        perf = {};
        perf.algo = static_cast<decltype(perf.algo)>(each.algorithm);
        perf.status = is_supported(x, w, y) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
        perf.determinism = each.is_deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
        perf.memory = each.workspace;
        perf.mathType = x.type == CUDNN_DATA_FLOAT && v.math == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
    }
    return CUDNN_STATUS_SUCCESS;
}

template <class Descriptions>
cudnnStatus_t measure(const Descriptions& all, int algorithm, size_t* bytes) {
    for (const Described& each : all) {
        if (each.algorithm != algorithm) continue;
        *bytes = each.workspace;
        return CUDNN_STATUS_SUCCESS;
    }
    return CUDNN_STATUS_NOT_SUPPORTED;
}

template <class Descriptions>
cudnnStatus_t run(const char* function, Pass pass, const Descriptions& all, int algorithm, cudnnHandle_t handle,
                  const cudnnConvolutionStruct& v, const cudnnTensorStruct& x, const void* x_data,
                  const cudnnFilterStruct& w, const void* w_data, const cudnnTensorStruct& y, const void* y_data,
                  const void* alpha, const void* beta, void* workspace, size_t bytes) {
    if (handle == nullptr || x_data == nullptr || w_data == nullptr || y_data == nullptr)
        return bad(function, "a null");
    if (const char* why = check(x, w, v, y); why != nullptr) return bad(function, why);
    if (w.format == CUDNN_TENSOR_NHWC && refuses_last("run")) {
        return refuse(kNotThisLayout, function, "the test refuses channels-last layouts");
    }
    size_t wanted = 0;
    if (!is_supported(x, w, y) || measure(all, algorithm, &wanted) != CUDNN_STATUS_SUCCESS) {
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, function, "the algorithm does not take these layouts");
    }
    if (bytes < wanted || (wanted > 0 && workspace == nullptr)) return bad(function, "too little workspace");
    if (wanted > 0) std::memset(workspace, 0xa5, wanted);
    const auto work = x.type == CUDNN_DATA_DOUBLE ? convolve<double> : convolve<float>;
    work(pass, v, x, x_data, w, w_data, y, y_data, alpha, beta);
    return CUDNN_STATUS_SUCCESS;
}

/// Whether a descriptor may have so many sizes: batch, channels, and two or three sides.
bool takes(int count) { return count == 4 || count == 5; }
/// `count` sizes as five: with two sides a 1 is inserted after the channels.
void spread(int count, const int* numbers, int (&to)[5]) {
    to[2] = 1;
    std::copy_n(numbers, 2, to);
    std::copy_n(numbers + 2, count - 2, to + 7 - count);
}

template <class T>
cudnnStatus_t make(T** made) {
    *made = new T{};
    return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t drop(T* made) {
    delete made;
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return make(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return drop(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
    return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* desc) { return make(desc); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t desc) { return drop(desc); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t desc, cudnnDataType_t type, int count,
                                         const int sizes[], const int steps[]) {
    if (!takes(count)) return bad("cudnnSetTensorNdDescriptor", "neither two nor three sides");
    desc->type = type;
    spread(count, sizes, desc->sizes);
    spread(count, steps, desc->steps);
    for (int d = 0; d < 5; ++d) {
        if (desc->sizes[d] < 1 || desc->steps[d] < 1) return bad("cudnnSetTensorNdDescriptor", "a size below 1");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* desc) { return make(desc); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t desc) { return drop(desc); }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int count, const int sizes[]) {
    if (!takes(count)) return bad("cudnnSetFilterNdDescriptor", "neither two nor three sides");
    desc->type = type;
    desc->format = format;
    spread(count, sizes, desc->sizes);
    for (const int size : desc->sizes) {
        if (size < 1) return bad("cudnnSetFilterNdDescriptor", "a size below 1");
    }
    if (format == CUDNN_TENSOR_NHWC && refuses_last("describe")) {
        return refuse(kNotThisLayout, "cudnnSetFilterNdDescriptor", "the test refuses channels-last layouts");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* desc) { return make(desc); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t desc) { return drop(desc); }
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t desc, int count, const int padding[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
    if (!takes(2 + count)) return bad("cudnnSetConvolutionNdDescriptor", "neither two nor three sides");
    *desc = {{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, compute};
    std::copy_n(padding, count, desc->padding + 3 - count);
    std::copy_n(stride, count, desc->stride + 3 - count);
    std::copy_n(dilation, count, desc->dilation + 3 - count);
    bool is_sound = mode == CUDNN_CROSS_CORRELATION;
    for (int d = 0; d < 3; ++d) {
        is_sound = is_sound && desc->padding[d] >= 0 && std::min(desc->stride[d], desc->dilation[d]) >= 1;
    }
    if (is_sound) return CUDNN_STATUS_SUCCESS;
    return bad("cudnnSetConvolutionNdDescriptor", "a padding, a stride, a dilation, or the mode");
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t desc, int groups) {
    desc->groups = groups;
    return groups >= 1 ? CUDNN_STATUS_SUCCESS : bad("cudnnSetConvolutionGroupCount", "below 1");
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t desc, cudnnMathType_t math) {
    desc->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t v,
                                                     const cudnnTensorDescriptor_t y, const int wanted, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
    return propose("cudnnGetConvolutionForwardAlgorithm_v7", kForward, *x, *w, *v, *y, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                      const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                                                      const cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t algo,
                                                      size_t* bytes) {
    return measure(kForward, algo, bytes);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t of_x,
                                      const void* x, const cudnnFilterDescriptor_t of_w, const void* w,
                                      const cudnnConvolutionDescriptor_t v, cudnnConvolutionFwdAlgo_t algo,
                                      void* workspace, size_t bytes, const void* beta,
                                      const cudnnTensorDescriptor_t of_y, void* y) {
    return run("cudnnConvolutionForward", Pass::kForward, kForward, algo, handle, *v, *of_x, x, *of_w, w, *of_y, y,
               alpha, beta, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t y,
                                                          const cudnnConvolutionDescriptor_t v,
                                                          const cudnnTensorDescriptor_t x, const int wanted, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
    return propose("cudnnGetConvolutionBackwardDataAlgorithm_v7", kData, *x, *w, *v, *y, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           const cudnnConvolutionDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           cudnnConvolutionBwdDataAlgo_t algo, size_t* bytes) {
    return measure(kData, algo, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t of_w,
                                           const void* w, const cudnnTensorDescriptor_t of_y, const void* y,
                                           const cudnnConvolutionDescriptor_t v, cudnnConvolutionBwdDataAlgo_t algo,
                                           void* workspace, size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t of_x, void* x) {
    return run("cudnnConvolutionBackwardData", Pass::kData, kData, algo, handle, *v, *of_x, x, *of_w, w, *of_y, y,
               alpha, beta, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t y,
                                                            const cudnnConvolutionDescriptor_t v,
                                                            const cudnnFilterDescriptor_t w, const int wanted,
                                                            int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
    return propose("cudnnGetConvolutionBackwardFilterAlgorithm_v7", kFilter, *x, *w, *v, *y, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                             const cudnnTensorDescriptor_t,
                                                             const cudnnConvolutionDescriptor_t,
                                                             const cudnnFilterDescriptor_t,
                                                             cudnnConvolutionBwdFilterAlgo_t algo, size_t* bytes) {
    return measure(kFilter, algo, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t of_x, const void* x,
                                             const cudnnTensorDescriptor_t of_y, const void* y,
                                             const cudnnConvolutionDescriptor_t v, cudnnConvolutionBwdFilterAlgo_t algo,
                                             void* workspace, size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t of_w, void* w) {
    return run("cudnnConvolutionBackwardFilter", Pass::kFilter, kFilter, algo, handle, *v, *of_x, x, *of_w, w, *of_y, y,
               alpha, beta, workspace, bytes);
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
        ENTRY(cudnnCreateTensorDescriptor),
        ENTRY(cudnnDestroyTensorDescriptor),
        ENTRY(cudnnSetTensorNdDescriptor),
        ENTRY(cudnnCreateFilterDescriptor),
        ENTRY(cudnnDestroyFilterDescriptor),
        ENTRY(cudnnSetFilterNdDescriptor),
        ENTRY(cudnnCreateConvolutionDescriptor),
        ENTRY(cudnnDestroyConvolutionDescriptor),
        ENTRY(cudnnSetConvolutionNdDescriptor),
        ENTRY(cudnnSetConvolutionGroupCount),
        ENTRY(cudnnSetConvolutionMathType),
        ENTRY(cudnnGetConvolutionForwardAlgorithm_v7),
        ENTRY(cudnnGetConvolutionForwardWorkspaceSize),
        ENTRY(cudnnConvolutionForward),
        ENTRY(cudnnGetConvolutionBackwardDataAlgorithm_v7),
        ENTRY(cudnnGetConvolutionBackwardDataWorkspaceSize),
        ENTRY(cudnnConvolutionBackwardData),
        ENTRY(cudnnGetConvolutionBackwardFilterAlgorithm_v7),
        ENTRY(cudnnGetConvolutionBackwardFilterWorkspaceSize),
        ENTRY(cudnnConvolutionBackwardFilter),
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
