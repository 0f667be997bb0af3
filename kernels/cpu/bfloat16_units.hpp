/// Products of bfloat16 numbers on the machine's own units (AVX-512 BF16, AMX), which oneDNN uses. The units read
/// denormals as 0 and write 0 for denormals, so they get only numbers for which neither occurs.
#pragma once

#include <initializer_list>

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// Whether this machine has such units, and the oneDNN that is loaded uses them.
[[nodiscard]] bool has_bfloat16_units();

/// Whether sums of products of one element of `a` with one of `b` and, if there are any, elements of `addends`, are the
/// same on the units as in float32, but for the order of the additions: all are bfloat16, and no partial sum but 0 can
/// be so small that float32 holds it as a denormal. Reads all elements.
[[nodiscard]] bool suit_bfloat16_units(const View& a, const View& b, std::initializer_list<View> addends = {});

/// The smallest magnitude, as the bits of a bfloat16 number, of the elements that are not 0; 0x7fff if there are none.
[[nodiscard]] int least_magnitude(const View& bfloat16s);

}  // namespace diopi::cpu
