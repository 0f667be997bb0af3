#include "kernels/cpu/bfloat16_units.hpp"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/onednn_api.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

constexpr int kMagnitude = 0x7fff, kBias = 127, kFraction = 7;
/// float32's least normal number is 2^-126.
constexpr int kLeastNormal = -126;

/// A magnitude less 1, so that 0 is the largest one.
uint16_t rank_of(uint16_t bits) { return static_cast<uint16_t>((bits & kMagnitude) - 1); }

uint16_t least_rank(const uint16_t* x, int64_t stride, int64_t n) {
    uint16_t least = kMagnitude - 1;
    if (stride == 1) {
        for (int64_t i = 0; i < n; ++i) least = std::min(least, rank_of(x[i]));
    } else {
        for (int64_t i = 0; i < n; ++i) least = std::min(least, rank_of(x[i * stride]));
    }
    return least;
}

/// The exponent of the last bit of a number with this magnitude: it and its sums are multiples of that power of 2.
int last_bit(int magnitude) { return (magnitude >> kFraction) - kBias - kFraction; }

bool is_normal(int magnitude) { return magnitude >> kFraction > 0; }

}  // namespace

bool has_bfloat16_units() {
    static const bool has = onednn::uses(dnnl::cpu_isa::avx512_core_bf16);
    return has;
}

int least_magnitude(const View& bfloat16s) {
    // A vector holds 32 elements, and the loop does little with each.
    constexpr int64_t kPart = 1 << 14, kElementsPerWork = 16;
    const auto* data = bfloat16s.as<const uint16_t>();
    const Nest nest = make_nest(bfloat16s.shape, {bfloat16s.strides.data()});
    const int64_t inner = nest.inner_size(), stride = nest.inner_stride(0);
    uint16_t least = kMagnitude - 1;
    for_each_outer(nest, 1, [&](const auto& at) {
        std::atomic<uint16_t> lowest = least;
        parallel_for((inner + kPart - 1) / kPart, kPart / kElementsPerWork, [&](int64_t first, int64_t last) {
            const int64_t begin = first * kPart, end = std::min(last * kPart, inner);
            const uint16_t found = least_rank(data + at[0] + begin * stride, stride, end - begin);
            uint16_t known = lowest.load();
            while (found < known && !lowest.compare_exchange_weak(known, found)) {
            }
        });
        least = lowest;
    });
    return least + 1;
}

bool suit_bfloat16_units(const View& a, const View& b, std::initializer_list<View> addends) {
    const auto is_bfloat16 = [](const View& v) { return v.dtype == Dtype::bfloat16; };
    if (!has_bfloat16_units() || !is_bfloat16(a) || !is_bfloat16(b)) return false;
    if (!std::ranges::all_of(addends, is_bfloat16)) return false;
    const int least_a = least_magnitude(a), least_b = least_magnitude(b);
    if (!is_normal(least_a) || !is_normal(least_b)) return false;
    // Multiples of a power of 2 stay multiples of it when they are added, rounded or not.
    if (last_bit(least_a) + last_bit(least_b) < kLeastNormal) return false;
    return std::ranges::all_of(addends, [](const View& v) { return last_bit(least_magnitude(v)) >= kLeastNormal; });
}

}  // namespace diopi::cpu
