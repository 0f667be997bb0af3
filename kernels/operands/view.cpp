#include "kernels/operands/view.hpp"

#include <algorithm>
#include <utility>

namespace diopi::operands {

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
    v.shape = list_of(shape);
    v.strides = list_of(strides);
    return v;
}

View element(void* data, Dtype dtype) {
    View v;
    v.data = static_cast<std::byte*>(data);
    v.dtype = dtype;
    v.numel = 1;
    return v;
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

/// The bytes that a non-empty view spans: [first, second).
std::pair<const std::byte*, const std::byte*> extent(const View& v) {
    int64_t low = 0, high = 1;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        const int64_t span = (v.shape[d] - 1) * v.strides[d];
        (span < 0 ? low : high) += span;
    }
    return {v.data + low * v.item_size(), v.data + high * v.item_size()};
}

}  // namespace

bool overlap(const View& a, const View& b) {
    if (a.data == nullptr || b.data == nullptr || a.numel == 0 || b.numel == 0) return false;
    const auto [a_first, a_last] = extent(a);
    const auto [b_first, b_last] = extent(b);
    return a_first < b_last && b_first < a_last;
}

bool same_view(const View& a, const View& b) {
    return a.data == b.data && a.item_size() == b.item_size() && std::ranges::equal(a.shape, b.shape) &&
           std::ranges::equal(a.strides, b.strides);
}

diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made) {
    diopiTensorHandle_t tensor = nullptr;
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    const diopiError_t error = diopiRequireTensor(ctx, &tensor, &size, nullptr, to_c(dtype), diopi_device);
    if (error == diopiSuccess) made = view(tensor);
    return error;
}

diopiError_t require_dense(diopiContextHandle_t ctx, const View& out, View& dense) {
    dense = out;
    return out.is_contiguous() ? diopiSuccess : require(ctx, out.shape, out.dtype, dense);
}

}  // namespace diopi::operands
