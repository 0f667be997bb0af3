/// The operators: each reads its tensors' layouts, finds their buffers, and enqueues one kernel. float32 only.
#include <algorithm>
#include <array>
#include <iterator>

#include "device.hpp"

using namespace vendor;

namespace {

constexpr size_t kMaxRank = 8;
/// Work-items of a group. All kernels use one size, because a kernel is compiled for each size that it is started with.
constexpr size_t kGroup = 64;

using Sizes = std::vector<int64_t>;

/// A tensor and the offset of its first element in its buffer.
struct Tensor {
    Sizes sizes, strides;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    cl_mem buffer = nullptr;  ///< null when it has no elements
    cl_long offset = 0;       ///< in elements
};

/// The same struct as in kernels.cl, member by member.
struct Layout {
    cl_long rank = 0, numel = 1;
    std::array<cl_long, kMaxRank> sizes{};
    std::array<cl_long, 3> offsets{};
    std::array<std::array<cl_long, kMaxRank>, 3> strides{};
};

/// Sets the strides of tensor k. Its stride is 0 along a dim that it lacks or in which its size is 1.
void place(Layout& layout, size_t k, const Tensor& tensor) {
    const size_t missing = static_cast<size_t>(layout.rank) - tensor.sizes.size();
    layout.offsets[k] = tensor.offset;
    for (size_t dim = 0; dim < tensor.sizes.size(); ++dim) {
        if (tensor.sizes[dim] != 1) layout.strides[k][missing + dim] = tensor.strides[dim];
    }
}

Layout walk(const Sizes& sizes) {
    Layout layout;
    layout.rank = static_cast<cl_long>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), layout.sizes.begin());
    for (int64_t n : sizes) layout.numel *= n;
    return layout;
}

/// Declines dtypes other than float32, and more dims than the kernels support.
diopiError_t describe(diopiConstTensorHandle_t handle, Tensor& tensor) {
    diopiSize_t sizes, strides;
    const void* data = nullptr;
    int64_t numel = 0;
    diopiGetTensorDtype(handle, &tensor.dtype);
    diopiGetTensorShape(handle, &sizes);
    diopiGetTensorStride(handle, &strides);
    diopiGetTensorNumel(handle, &numel);
    diopiGetTensorDataConst(handle, &data);
    if (tensor.dtype != diopi_dtype_float32) return diopiDtypeNotSupported;
    if (sizes.len > static_cast<int64_t>(kMaxRank)) return diopiNoImplement;
    tensor.sizes.assign(sizes.data, sizes.data + sizes.len);
    tensor.strides.assign(strides.data, strides.data + strides.len);
    if (numel == 0) return diopiSuccess;
    const auto found = place_of(data);
    if (!found) return diopiErrorOccurred;
    if (found->offset % sizeof(float) != 0) return fail("a tensor starts in the middle of an element");
    tensor.buffer = found->buffer;
    tensor.offset = static_cast<cl_long>(found->offset / sizeof(float));
    return diopiSuccess;
}

/// Describes several tensors; returns the first error.
template <class... Pairs>
diopiError_t describe(diopiConstTensorHandle_t handle, Tensor& tensor, Pairs&&... more) {
    const diopiError_t error = describe(handle, tensor);
    return error == diopiSuccess ? describe(more...) : error;
}

/// Enqueues `count` work-items of the kernel. The arguments must have the types of the kernel's parameters.
template <class... Arguments>
diopiError_t launch(diopiContextHandle_t ctx, const char* name, cl_long count, const Arguments&... arguments) {
    if (count == 0) return diopiSuccess;
    const Device* on = device();
    diopiStreamHandle_t stream = nullptr;
    diopiGetStream(ctx, &stream);
    if (on == nullptr) return diopiErrorOccurred;
    if (stream == nullptr) return fail("the call's context has no stream");
    cl_int error = CL_SUCCESS;
    // Arguments belong to the kernel object: each call has its own, because several threads call.
    cl_kernel kernel = clCreateKernel(on->program, name, &error);
    if (error != CL_SUCCESS) return outcome(name, error);
    cl_uint index = 0;
    ((error = error == CL_SUCCESS ? clSetKernelArg(kernel, index++, sizeof arguments, &arguments) : error), ...);
    const size_t global = (static_cast<size_t>(count) + kGroup - 1) / kGroup * kGroup;
    auto& to = *static_cast<Stream*>(stream);
    cl_event event = nullptr;
    if (error == CL_SUCCESS) {
        error = clEnqueueNDRangeKernel(to.queue, kernel, 1, nullptr, &global, &kGroup, 0, nullptr, &event);
    }
    if (error == CL_SUCCESS) keep(to, event);
    clReleaseKernel(kernel);
    return outcome(name, error);
}

template <class... Arguments>
diopiError_t unary(diopiContextHandle_t ctx, const char* kernel, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t input, const Arguments&... arguments) {
    Tensor to, a;
    const diopiError_t error = describe(out, to, input, a);
    if (error != diopiSuccess) return error;
    Layout layout = walk(to.sizes);
    place(layout, 0, to);
    place(layout, 1, a);
    return launch(ctx, kernel, layout.numel, to.buffer, a.buffer, layout, arguments...);
}

template <class... Arguments>
diopiError_t binary(diopiContextHandle_t ctx, const char* kernel, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t other, const Arguments&... arguments) {
    Tensor to, a, b;
    const diopiError_t error = describe(out, to, input, a, other, b);
    if (error != diopiSuccess) return error;
    Layout layout = walk(to.sizes);
    place(layout, 0, to);
    place(layout, 1, a);
    place(layout, 2, b);
    return launch(ctx, kernel, layout.numel, to.buffer, a.buffer, b.buffer, layout, arguments...);
}

double number(const diopiScalar_t* scalar) {
    constexpr diopiDtype_t kFloating[] = {diopi_dtype_float16, diopi_dtype_bfloat16, diopi_dtype_float32,
                                          diopi_dtype_float64};
    const bool is_floating =
        std::find(std::begin(kFloating), std::end(kFloating), scalar->stype) != std::end(kFloating);
    return is_floating ? scalar->fval : static_cast<double>(scalar->ival);
}

/// For each of `rank` dims whether it is named; if none is named, the value is `none` for all.
std::vector<bool> named(diopiSize_t dims, size_t rank, bool none) {
    std::vector<bool> is_named(rank, dims.len == 0 && none);
    for (int64_t i = 0; i < dims.len && rank > 0; ++i) {
        const auto all = static_cast<int64_t>(rank);
        is_named[static_cast<size_t>((dims.data[i] + all) % all)] = true;
    }
    return is_named;
}

}  // namespace

extern "C" {

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return binary(ctx, "add", out, input, other, static_cast<cl_float>(number(alpha)));
}

diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return diopiAdd(ctx, input, input, other, alpha);
}

diopiError_t diopiAddScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    return unary(ctx, "add_scalar", out, input, static_cast<cl_float>(number(alpha) * number(other)));
}

diopiError_t diopiAddInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return diopiAddScalar(ctx, input, input, other, alpha);
}

diopiError_t diopiMul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
    return binary(ctx, "mul", out, input, other);
}

diopiError_t diopiMulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other) {
    return diopiMul(ctx, input, input, other);
}

diopiError_t diopiMulScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    return unary(ctx, "mul_scalar", out, input, static_cast<cl_float>(number(other)));
}

diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return diopiMulScalar(ctx, input, input, other);
}

diopiError_t diopiMaximum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return binary(ctx, "maximum", out, input, other);
}

diopiError_t diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return unary(ctx, "neg", out, input);
}

diopiError_t diopiNegInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiNeg(ctx, input, input); }

diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return unary(ctx, "exponential", out, input);
}

diopiError_t diopiExpInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiExp(ctx, input, input); }

/// A copy that reads the input backwards along `dims`.
diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dims) {
    Tensor to, a;
    const diopiError_t error = describe(out, to, input, a);
    if (error != diopiSuccess) return error;
    const auto is_flipped = named(dims, a.sizes.size(), false);
    for (size_t dim = 0; dim < a.sizes.size(); ++dim) {
        if (!is_flipped[dim]) continue;
        a.offset += (a.sizes[dim] - 1) * a.strides[dim];
        a.strides[dim] = -a.strides[dim];
    }
    Layout layout = walk(to.sizes);
    place(layout, 0, to);
    place(layout, 1, a);
    return launch(ctx, "copy", layout.numel, to.buffer, a.buffer, layout);
}

/// The kernel loops over the dims that stay, and for each of their elements over the reduced dims.
diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiSize_t dim) {
    Tensor to, a;
    const diopiError_t error = describe(out, to, input, a);
    if (error != diopiSuccess) return error;
    const auto is_reduced = named(dim, a.sizes.size(), true);
    const bool is_kept = to.sizes.size() == a.sizes.size();
    Tensor result{{}, {}, to.dtype, to.buffer, to.offset}, start{{}, {}, a.dtype, a.buffer, a.offset}, part;
    for (size_t i = 0, next = 0; i < a.sizes.size(); ++i) {
        Tensor& side = is_reduced[i] ? part : start;
        side.sizes.push_back(a.sizes[i]);
        side.strides.push_back(a.strides[i]);
        if (!is_reduced[i]) {
            result.sizes.push_back(to.sizes[next]);
            result.strides.push_back(to.strides[next]);
        }
        if (!is_reduced[i] || is_kept) ++next;
    }
    Layout layout = walk(result.sizes), inner = walk(part.sizes);
    place(layout, 0, result);
    place(layout, 1, start);
    place(inner, 0, part);
    return launch(ctx, "sum", layout.numel, to.buffer, a.buffer, layout, inner);
}

diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t mat2) {
    Tensor to, a, b;
    const diopiError_t error = describe(out, to, input, a, mat2, b);
    if (error != diopiSuccess) return error;
    const cl_long length = a.sizes[1], step_a = a.strides[1], step_b = b.strides[0];
    // The offsets of a's row and of b's column for each element of out.
    a.sizes[1] = 1;
    b.sizes[0] = 1;
    Layout layout = walk(to.sizes);
    place(layout, 0, to);
    place(layout, 1, a);
    place(layout, 2, b);
    return launch(ctx, "mm", layout.numel, to.buffer, a.buffer, b.buffer, layout, length, step_a, step_b);
}

}  // extern "C"
