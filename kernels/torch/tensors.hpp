/// The host's tensors as PyTorch's, without a copy.
#pragma once

#include <ATen/core/Tensor.h>
#include <diopi/functions.h>

#include <optional>

namespace diopi::torch_impl {

/// Null where PyTorch has no such dtype.
[[nodiscard]] std::optional<at::ScalarType> to_torch(diopiDtype_t dtype);
/// diopi_dtype_unsupported where the standard has no such dtype.
[[nodiscard]] diopiDtype_t to_standard(at::ScalarType dtype);

/// A tensor that borrows the memory of the host's, with its strides. Undefined for a null handle. Throws c10::Error for
/// a dtype that PyTorch does not have, and for a sparse tensor.
[[nodiscard]] at::Tensor borrow(diopiConstTensorHandle_t handle);

/// Makes a tensor of the host with the same elements.
[[nodiscard]] diopiTensorHandle_t give(diopiContextHandle_t ctx, const at::Tensor& tensor);

}  // namespace diopi::torch_impl
