#include "kernels/cuda/view.hpp"

#include <algorithm>
#include <utility>

#include "runtime/context.hpp"

namespace diopi::cuda {

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
    return v;
}

View number_view(Dtype dtype) {
    View v;
    v.dtype = dtype;
    v.numel = 1;
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

diopiError_t check_gradient(std::string_view op, std::string_view argument, const View& gradient, const View& of) {
    if (std::ranges::equal(gradient.shape, of.shape)) return diopiSuccess;
    return wrong_shape(op, argument, gradient.shape, to_string(of.shape));
}

diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made) {
    diopiTensorHandle_t tensor = nullptr;
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    const diopiError_t error = diopiRequireTensor(ctx, &tensor, &size, nullptr, to_c(dtype), diopi_device);
    if (error == diopiSuccess) made = view(tensor);
    return error;
}

}  // namespace diopi::cuda
