/// Draws the inputs of a case: the same bytes on every machine and for every split of the work. An element depends only
/// on the case's key, the argument's name, its position in a list and the element's row-major index; never on the
/// layout. Numbers come from core/normal.hpp; counter_high 0 is for values, 1 for the pattern of a sparse tensor.
///
/// The values of each fill, by dtype. u, x and w are the uniform, normal and word of the element's index: in float
/// (rounded again to the 16-bit formats and tfloat32), in double for float64 and complex128.
///   fill          floating             signed, unsigned integers           bool
///   rand          u                    0                                   top bit of w
///   uniform       low (1-u) + high u   as randint                          as randint
///   randn         x                    round(4x), |round(4x)|              x < 0
///   positive      max(|x|, 2^-24)      |round(4x)|, so 0 is drawn too      round(4x) != 0
///   randint       an integer           an integer                          the integer != 0
///   randn_int     floor(m + s x) with m = (low+high)/2, s = (high-low)/6, cut to the range; bool: != 0
///   mask          0 or 1               0 or 1                              top bit of w
///   empty         NaN                  bytes 0xA5                          true
///   ones, zeros   1, 0                 1, 0                                true, false
///   sym_mat       A A^T / n + I per matrix of the last two dims (A of double normals); integers: rounded
///   log_softmax   of double normals along dim 1, dim 0 below rank 2; integers: rounded, unsigned: magnitude
///   exact         whole numbers, see below
///   special, special_sums, special_factors: randn with special numbers among them, see below; bool: as mask
///   captured      another tensor's elements in row-major order, again from the start when they end; a list goes on
///                 where its former tensor ended; converted as `value`, complex numbers keep their real part
///   value         the case's list, in row-major order; integers: truncated and saturated, NaN is 0
/// Ranges are [low, high) cut to what the dtype can hold (bool: not cut; integers: at most 2^62 in magnitude); a range
/// that holds no value is an error. Values are in the range after rounding to the dtype, too.
/// randint: n integers from `first` on; n <= 2^32: first + (w n >> 32); else first + (w' n >> 64) with w' the 64 bits
/// of words 2i (high) and 2i+1.
///
/// exact: sign and magnitude 1 to r from the word, 0 for one word in 16; r is 4, float16 and complex32 2, bfloat16 1,
/// so that sums of 2^20 products are exact in float32, and for the halves, those of 256 products in themselves. Never 0
/// at the last index of any dim, nor at innermost indices that are 0 or 7 modulo 8, where tiles begin and end.
///
/// special: min(32, n / 2) of n elements, one in each of as many equal stretches, are in turn 0, -0, the smallest
/// denormal, its negative, the smallest normal, 2^e with e from the whole range of exponents, NaN, inf, -inf, the
/// largest number, its negative; integers: least, largest, 0, -1, 1 (unsigned: without -1). special_sums has no
/// largest, and exponents only from the middle quarter, so that the order of a sum does not decide what overflows;
/// special_factors is the same without NaN, infinities and powers above 1.
///
/// Complex tensors: element i has components 2i and 2i+1 of the drawn sequence with rand, uniform, randn, positive,
/// randint, randn_int, empty, exact, special; the other fills have an imaginary part of 0. randn_complex is randn.
///
/// Layout: explicit strides; else no_contiguous swaps the strides of the last two dims (rank 1: stride 2; where the
/// swap leaves the tensor contiguous, all strides are doubled; a single element stays). Gaps hold what `empty` gives.
/// If strides make elements overlap, the last one in row-major order stays.
///
/// CSR: crow_indices and col_indices are int64 (PyTorch's default), and columns ascend within a row. An element is
/// stored when its word of counter_high 1 is below density * 2^32, and has the value of the dense tensor (which can be
/// 0). Strides are ignored.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"
#include "runtime/device.hpp"

namespace diopi {

/// Key of the random numbers of one tensor: argument `name`, `position` in its list (0 for a single tensor).
[[nodiscard]] uint64_t tensor_key(uint64_t case_key, std::string_view name, int64_t position);

/// The tensors of an argument in host memory, one per spec; none for an absent argument. Those without a sparse layout
/// are made by `memory`, whose memory the host can write. bad_input for a spec or a fill
/// that cannot be drawn: negative strides, an empty range, a sym_mat that is not square, a CSR tensor of rank other
/// than 2, a number of values that differs from the tensor's elements.
[[nodiscard]] Result<std::vector<TensorPtr>> draw(const CaseTensor& tensor, uint64_t case_key,
                                                  Device& memory = cpu_device());

}  // namespace diopi
