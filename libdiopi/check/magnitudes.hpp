/// Terms of a sum in the oracle's wide dtypes, contiguous, as a bound of its errors takes them.
#pragma once

#include "core/tensor.hpp"

namespace diopi {

enum class Sign {
    kKept,
    kDropped,
    kDroppedAndFinite,  ///< infinities become 0: such a term decides a sum, and the others may overflow against it
    kDroppedAndFlushed  ///< denormals of float32 become 0
};

/// Replaces numbers by their magnitudes, unless the sign is kept. The magnitude of a complex number is always finite.
void take_magnitudes(const Tensor& tensor, Sign sign);
/// widen(), then take_magnitudes() of `to`, part by part: each number comes from memory once.
void widen_magnitudes(const Tensor& from, const Tensor& to, Sign sign);

}  // namespace diopi
