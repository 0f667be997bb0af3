/// Functions of one number of a half type by look-up: there are only 65,536 such numbers, and a look-up takes less time
/// than most formulas.
#pragma once

#include <atomic>
#include <mutex>

#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

/// The least elements of a call that uses the values: the results of smaller ones are not worth 128 KiB of the caches.
constexpr int64_t kLookUpElements = 1 << 14;
/// The values are computed when such calls have had so many elements, four times their number.
constexpr int64_t kFillElements = 1 << 18;

/// The values of one function of one half type. The operator itself computes them: results by look-up have the same
/// bits.
class HalfValues {
 public:
    /// The operator for a call of `n` elements of `dtype`: one that looks up, or `given` as long as there are no
    /// values.
    [[nodiscard]] TileOp instead_of(const TileOp& given, Dtype dtype, int64_t n);

 private:
    void fill(const TileOp& given, Dtype dtype);

    std::atomic<int64_t> computed_{0};
    std::once_flag filled_;
    alignas(64) uint16_t values_[1 << 16] = {};
};

}  // namespace diopi::cpu
