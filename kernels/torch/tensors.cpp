#include "kernels/torch/tensors.hpp"

#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <iterator>

#include "kernels/torch/device.hpp"

namespace diopi::torch_impl {

namespace {

constexpr struct {
    diopiDtype_t standard;
    at::ScalarType torch;
} kDtypes[] = {{diopi_dtype_int8, at::kChar},
               {diopi_dtype_uint8, at::kByte},
               {diopi_dtype_int16, at::kShort},
               {diopi_dtype_int32, at::kInt},
               {diopi_dtype_int64, at::kLong},
               {diopi_dtype_float16, at::kHalf},
               {diopi_dtype_float32, at::kFloat},
               {diopi_dtype_float64, at::kDouble},
               {diopi_dtype_bool, at::kBool},
               {diopi_dtype_bfloat16, at::kBFloat16},
               {diopi_dtype_complex32, at::kComplexHalf},
               {diopi_dtype_complex64, at::kComplexFloat},
               {diopi_dtype_complex128, at::kComplexDouble}};

void check(diopiError_t error, const char* doing) {
    TORCH_CHECK(error == diopiSuccess, "the host failed at ", doing, ": error ", static_cast<int>(error));
}

}  // namespace

std::optional<at::ScalarType> to_torch(diopiDtype_t dtype) {
    for (const auto& pair : kDtypes) {
        if (pair.standard == dtype) return pair.torch;
    }
    return std::nullopt;
}

diopiDtype_t to_standard(at::ScalarType dtype) {
    for (const auto& pair : kDtypes) {
        if (pair.torch == dtype) return pair.standard;
    }
    return diopi_dtype_unsupported;
}

at::Tensor borrow(diopiConstTensorHandle_t handle) {
    if (handle == nullptr) return {};
    const void* data = nullptr;
    diopiSize_t shape{}, strides{};
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t place = diopi_device;
    bool is_sparse = false;
    check(diopiIsTensorSparse(handle, &is_sparse), "diopiIsTensorSparse");
    TORCH_CHECK_NOT_IMPLEMENTED(!is_sparse, "sparse tensors are not implemented");
    check(diopiGetTensorDataConst(handle, &data), "diopiGetTensorDataConst");
    check(diopiGetTensorShape(handle, &shape), "diopiGetTensorShape");
    check(diopiGetTensorStride(handle, &strides), "diopiGetTensorStride");
    check(diopiGetTensorDtype(handle, &dtype), "diopiGetTensorDtype");
    check(diopiGetTensorDevice(handle, &place), "diopiGetTensorDevice");
    const auto type = to_torch(dtype);
    TORCH_CHECK_NOT_IMPLEMENTED(type.has_value(), "\"borrow\" not implemented for the standard's dtype ",
                                static_cast<int>(dtype));
    const auto dims = static_cast<size_t>(shape.len);
    const c10::Device where = place == diopi_host ? c10::Device(c10::DeviceType::CPU) : device();
    return at::for_blob(const_cast<void*>(data), at::IntArrayRef(shape.data, dims))
        .strides(at::IntArrayRef(strides.data, dims))
        .options(at::TensorOptions(*type).device(where))
        .target_device(where)
        .make_tensor();
}

diopiTensorHandle_t give(diopiContextHandle_t ctx, const at::Tensor& tensor) {
    diopiTensorHandle_t handle = nullptr;
    const diopiSize_t shape{tensor.sizes().data(), tensor.dim()}, strides{tensor.strides().data(), tensor.dim()};
    const bool is_dense = tensor.is_non_overlapping_and_dense();
    check(diopiRequireTensor(ctx, &handle, &shape, is_dense ? &strides : nullptr, to_standard(tensor.scalar_type()),
                             diopi_device),
          "diopiRequireTensor");
    borrow(handle).copy_(tensor);
    return handle;
}

}  // namespace diopi::torch_impl
