/// The fills of draw.hpp, one function each: `key` is the tensor's key, target.count is above 0.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "cases/fill_target.hpp"
#include "core/status.hpp"

namespace diopi {

// Fills from a range.
[[nodiscard]] Status fill_from_range(const FillTarget& target, uint64_t key, const FillSpec& fill);
[[nodiscard]] Status fill_uniform_unit(const FillTarget& target, uint64_t key);

// Fills element by element.
void fill_randn(const FillTarget& target, uint64_t key);
void fill_magnitude(const FillTarget& target, uint64_t key);
void fill_mask(const FillTarget& target, uint64_t key, Parts parts);
void fill_constant(const FillTarget& target, int32_t value);
/// Values that must not be read: NaN, 0xA5 bytes, true.
void fill_poison(const FillTarget& target);
/// One number per element, in row-major order.
void fill_doubles(const FillTarget& target, const std::vector<double>& values);

// Fills of whole tensors.
void fill_symmetric(const FillTarget& target, uint64_t key);
void fill_log_softmax(const FillTarget& target, uint64_t key);

// Fills that show failures.
void fill_exact(const FillTarget& target, uint64_t key);
/// The special numbers that occur: all; those whose sums overflow in any order or in none; of these, the finite ones up
/// to 1.
enum class Extremes { kAll, kSummable, kFinite };
void fill_special(const FillTarget& target, uint64_t key, Extremes extremes);

// Fills that are hard to compute with.
/// Magnitudes of every size whose products are finite; integers of every number of bits.
void fill_wide(const FillTarget& target, uint64_t key);
/// Floating numbers whose sums, products or whole parts are ties of roundings.
void fill_ties(const FillTarget& target, uint64_t key);
/// Floating numbers whose sum is small beside them.
void fill_cancelling(const FillTarget& target, uint64_t key);

/// The values from `first` on, then from the start again.
void fill_captured(const FillTarget& target, const Tensor& values, int64_t first);

}  // namespace diopi
