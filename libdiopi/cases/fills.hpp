/// The fills of draw.hpp, one function each: `key` is the tensor's, target.count is above 0.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "cases/fill_target.hpp"
#include "core/status.hpp"

namespace diopi {

// Of a range.
[[nodiscard]] Status fill_from_range(const FillTarget& target, uint64_t key, const FillSpec& fill);
[[nodiscard]] Status fill_uniform_unit(const FillTarget& target, uint64_t key);

// Element by element.
void fill_randn(const FillTarget& target, uint64_t key);
void fill_magnitude(const FillTarget& target, uint64_t key);
void fill_mask(const FillTarget& target, uint64_t key, Parts parts);
void fill_constant(const FillTarget& target, int32_t value);
/// Values that must not be read: NaN, 0xA5 bytes, true.
void fill_poison(const FillTarget& target);
/// One number per element, in row-major order.
void fill_doubles(const FillTarget& target, const std::vector<double>& values);

// Of whole tensors.
void fill_symmetric(const FillTarget& target, uint64_t key);
void fill_log_softmax(const FillTarget& target, uint64_t key);

// That show failures.
void fill_exact(const FillTarget& target, uint64_t key);
/// Which special numbers occur: all; those whose sums do not overflow or not by their order; of these, the finite
/// ones up to 1.
enum class Extremes { kAll, kSummable, kFinite };
void fill_special(const FillTarget& target, uint64_t key, Extremes extremes);
/// The values from `first` on, then from the start again.
void fill_captured(const FillTarget& target, const Tensor& values, int64_t first);

}  // namespace diopi
