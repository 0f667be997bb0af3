/// Rotations of one row in the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/half.hpp"

namespace diopi::cpu {

/// out[i] = x[i] * cos[i] + x[partner of i] * sin[i] for the n elements of a row, n even. Elements of type E compute in
/// T: float, or double for double. out may be x.
template <class E, class T>
struct RotaryKernels {
    using Row = void (*)(const E* x, const T* cos, const T* sin, E* out, int64_t n);
    Row halves;       ///< the partner of i is i + n / 2 or i - n / 2
    Row interleaved;  ///< the partner of 2i is 2i + 1
};

using RotaryTable = std::tuple<RotaryKernels<float, float>, RotaryKernels<double, double>, RotaryKernels<Half, float>,
                               RotaryKernels<Bfloat16, float>>;
[[nodiscard]] const RotaryTable& rotary_table();

}  // namespace diopi::cpu
