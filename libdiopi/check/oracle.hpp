/// Tensors in the form that comparisons read: contiguous, the oracle in its wide dtype.
#pragma once

#include <string>

#include "core/tensor.hpp"

namespace diopi {

/// A contiguous tensor of fresh, uninitialised host memory.
[[nodiscard]] Tensor make_host_tensor(const Shape& shape, Dtype dtype);

/// `tensor` itself when it is contiguous, else a contiguous copy. Host memory.
[[nodiscard]] Tensor gathered(const Tensor& tensor);

/// `expected`, contiguous and in `wide`, one of the wide dtypes (core/convert.hpp); a copy only if needed. Floating
/// values become integers by truncation, and 0 where they do not fit; a complex number keeps its real part only.
[[nodiscard]] Tensor to_oracle(const Tensor& expected, Dtype wide);

/// Element `flat` (row-major) of a contiguous tensor as text, with the fewest digits that identify the value.
[[nodiscard]] std::string print_element(const Tensor& tensor, int64_t flat);
/// The same for an oracle, with as many digits as neighbours of `output` need.
[[nodiscard]] std::string print_oracle(const Tensor& oracle, int64_t flat, Dtype output);

/// Real part of element `flat` of a contiguous tensor of any dtype.
[[nodiscard]] double real_of(const Tensor& tensor, int64_t flat);

/// Indices per dimension of element `flat`.
[[nodiscard]] Shape unravel(int64_t flat, ShapeView shape);

}  // namespace diopi
