#include "kernels/cpu/view.hpp"

#include <cstdlib>
#include <utility>

#include "kernels/cpu/tile.hpp"
#include "runtime/context.hpp"

namespace diopi::cpu {

View view(diopiConstTensorHandle_t tensor) {
    const void* data = nullptr;
    diopiSize_t shape{}, strides{};
    diopiDtype_t dtype = diopi_dtype_unsupported;
    View v;
    diopiGetTensorDataConst(tensor, &data);
    diopiGetTensorShape(tensor, &shape);
    diopiGetTensorStride(tensor, &strides);
    diopiGetTensorDtype(tensor, &dtype);
    diopiGetTensorNumel(tensor, &v.numel);
    v.data = static_cast<std::byte*>(const_cast<void*>(data));
    v.dtype = dtype == diopi_dtype_tfloat32 ? Dtype::float32 : from_c(dtype);
    v.shape = {shape.data, static_cast<size_t>(shape.len)};
    v.strides = {strides.data, static_cast<size_t>(strides.len)};
    v.contiguous = is_contiguous(v.shape, v.strides);
    return v;
}

diopiError_t fail(diopiError_t code, std::string message) {
    set_last_error(std::move(message));
    return code;
}

diopiError_t unsupported(std::string_view op, std::string_view argument, Dtype came, std::string_view wanted) {
    std::string message(op);
    message.append(": ").append(argument).append(" is ").append(name(came)).append(", wanted ").append(wanted);
    return fail(diopiDtypeNotSupported, std::move(message));
}

diopiError_t wrong_shape(std::string_view op, std::string_view argument, ShapeView came, std::string_view wanted) {
    std::string message(op);
    message.append(": ").append(argument).append(" has shape ").append(to_string(came));
    message.append(", wanted ").append(wanted);
    return fail(diopiErrorOccurred, std::move(message));
}

diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made) {
    diopiTensorHandle_t tensor = nullptr;
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    const diopiError_t error = diopiRequireTensor(ctx, &tensor, &size, nullptr, to_c(dtype), diopi_device);
    if (error == diopiSuccess) made = view(tensor);
    return error;
}

diopiError_t contiguous_as(diopiContextHandle_t ctx, const View& from, Dtype dtype, View& made) {
    if (from.contiguous && from.dtype == dtype) {
        made = from;
        return diopiSuccess;
    }
    View fresh;  // `made` may be `from`
    const diopiError_t error = require(ctx, from.shape, dtype, fresh);
    if (error != diopiSuccess) return error;
    copy(from, fresh);
    made = fresh;
    return diopiSuccess;
}

std::array<int64_t, kMaxRank> broadcast_strides(const View& operand, ShapeView shape) {
    std::array<int64_t, kMaxRank> strides{};
    const size_t skip = shape.size() - operand.shape.size();
    for (size_t d = 0; d < operand.shape.size(); ++d) {
        strides[skip + d] = operand.shape[d] == 1 ? 0 : operand.strides[d];
    }
    return strides;
}

namespace {

/// Whether dimension `a` belongs inside dimension `b`: operand 0 decides, the others where it cannot.
bool inside(const LoopNest& nest, size_t a, size_t b) {
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        const int64_t sa = std::abs(nest.strides[k][a]);
        const int64_t sb = std::abs(nest.strides[k][b]);
        if (sa == 0 || sb == 0 || sa == sb) continue;
        return sa < sb;
    }
    return false;
}

void swap_dims(LoopNest& nest, size_t a, size_t b) {
    std::swap(nest.sizes[a], nest.sizes[b]);
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) std::swap(nest.strides[k][a], nest.strides[k][b]);
}

/// Whether dimension `outer` followed by `inner` is one run for every operand.
bool is_one_run(const LoopNest& nest, size_t outer, size_t inner) {
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        if (nest.strides[k][outer] != nest.strides[k][inner] * nest.sizes[inner]) return false;
    }
    return true;
}

}  // namespace

LoopNest loop_nest(ShapeView shape, const int64_t* const* strides, int operands) {
    LoopNest nest;
    nest.operands = operands;
    const auto count = static_cast<size_t>(operands);
    size_t rank = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        nest.sizes[rank] = shape[d];
        for (size_t k = 0; k < count; ++k) nest.strides[k][rank] = strides[k][d];
        for (size_t i = rank; i > 0 && inside(nest, i - 1, i); --i) swap_dims(nest, i - 1, i);
        ++rank;
    }
    size_t last = 0;
    for (size_t d = 1; d < rank; ++d) {
        if (is_one_run(nest, last, d)) {
            nest.sizes[last] *= nest.sizes[d];
            for (size_t k = 0; k < count; ++k) nest.strides[k][last] = nest.strides[k][d];
        } else {
            ++last;
            nest.sizes[last] = nest.sizes[d];
            for (size_t k = 0; k < count; ++k) nest.strides[k][last] = nest.strides[k][d];
        }
    }
    if (rank == 0) nest.sizes[0] = 1;
    nest.rank = rank == 0 ? 1 : static_cast<int>(last + 1);
    return nest;
}

LoopNest loop_nest(ShapeView shape, std::initializer_list<const int64_t*> strides) {
    return loop_nest(shape, strides.begin(), static_cast<int>(strides.size()));
}

}  // namespace diopi::cpu
