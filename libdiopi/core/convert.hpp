/// Conversions of host tensors between their own dtype and the wide dtype of the float64 reference.
#pragma once

#include "core/tensor.hpp"

namespace diopi {

/// The dtype in which the reference holds values of `dtype`: float64, complex128, int64, or bool.
[[nodiscard]] Dtype wide_dtype(Dtype dtype);

/// Copies `from` (any dtype and strides) into `to`, which is contiguous, of the same shape and of a wide dtype.
/// Floating values become integers by truncation, and 0 where they do not fit; a complex number keeps its real part.
void widen(const Tensor& from, const Tensor& to);
/// The same for n elements of a floating dtype in memory.
void widen(Dtype dtype, const void* from, int64_t n, double* to);

/// Copies `from`, contiguous and of a wide dtype, into `to`, contiguous and of any dtype: floating numbers are rounded
/// once, to nearest even; integers wrap.
void narrow(const Tensor& from, const Tensor& to);

}  // namespace diopi
