/// The fast pass over floating outputs: one vectorised pass that finds whether all are within the bound, and the
/// largest error.
#pragma once

#include <array>

#include "check/comparison.hpp"
#include "check/judge.hpp"

namespace diopi {

/// Elements that are judged together; few enough for the widened copies to stay in the first-level cache.
inline constexpr int64_t kBlock = 1024;

/// The compared data as plain memory. Complex tensors count each element as two: real part, imaginary part.
struct Operands {
    const void* actual = nullptr;       ///< contiguous, of `component`
    Dtype component = Dtype::float32;   ///< float16, bfloat16, tfloat32, float32 or float64
    const double* expected = nullptr;   ///< contiguous
    const double* magnitude = nullptr;  ///< S, one per element (not per part), or null: |expected|
    int64_t count = 0;                  ///< number of parts
    int parts = 1;                      ///< 2 for complex
};

/// A block of the operands, in float64 and padded to whole vectors.
struct Block {
    alignas(32) std::array<double, kBlock> actual;
    alignas(32) std::array<double, kBlock> padded_expected;
    alignas(32) std::array<double, kBlock> padded_sums;
    const double* expected = nullptr;
    const double* sums = nullptr;  ///< null unless asked for
    int64_t begin = 0;
    int64_t count = 0;
};

/// Fills `block` with the parts [begin, begin + kBlock) or fewer; `sums` only when asked for.
void load_block(const Operands& operands, int64_t begin, bool with_sums, Block& block);

/// Figures over all parts. Maxima are over parts that are finite on both sides.
struct Scan {
    int64_t mismatches = 0;
    int64_t non_finite = 0;  ///< mismatches where NaN or infinity is involved
    int64_t warnings = 0;
    double max_abs = 0, max_rel = 0, max_ulp = 0;
    double share = 0;  ///< largest share of the allowed error
    CosineSums cosine_sums;
};

/// kStop: no figures of the blocks behind the first mismatch.
[[nodiscard]] Scan scan(const Operands& operands, const Rule& rule, OnMismatch on_mismatch);

}  // namespace diopi
