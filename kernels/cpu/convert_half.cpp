/// Conversions between half types and float32, rounding to nearest, ties to even.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convert_half.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

constexpr int64_t kLanes = kLanesOf<float>;

/// Elements from `begin` on.
template <class From, class To>
void convert_from(int64_t begin, const From* from, To* to, int64_t n) {
    int64_t i = begin;
    for (; i + kLanes <= n; i += kLanes) store(load(from + i), to + i);
    if (i < n) store_some<To>(load_some(from + i, n - i), to + i, n - i);
}

template <class From, class To>
void convert(const void* from, void* to, int64_t n) {
    convert_from(0, static_cast<const From*>(from), static_cast<To*>(to), n);
}

/// Four vectors at once, which seldom have a NaN.
void float_to_bfloat16(const void* from, void* to, int64_t n) {
    const Tag<float> d;
    const hn::Repartition<uint16_t, Tag<float>> dh;
    const float* a = static_cast<const float*>(from);
    auto* o = static_cast<Bfloat16*>(to);
    const auto store_upper = [&](Vec<uint32_t> low, Vec<uint32_t> high, int64_t i) {
        hn::StoreU(hn::ConcatOdd(dh, hn::BitCast(dh, high), hn::BitCast(dh, low)), dh,
                   reinterpret_cast<uint16_t*>(o + i));
    };
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        const auto x0 = load(a + i), x1 = load(a + i + kLanes);
        const auto x2 = load(a + i + 2 * kLanes), x3 = load(a + i + 3 * kLanes);
        const auto sum = (x0 + x1) + (x2 + x3);  // NaN if one of them is, or if infinities cancel
        if (hn::AllFalse(d, hn::IsNaN(sum))) {
            store_upper(rounded_to_upper(x0), rounded_to_upper(x1), i);
            store_upper(rounded_to_upper(x2), rounded_to_upper(x3), i + 2 * kLanes);
        } else {
            store_upper(rounded_or_nan(x0), rounded_or_nan(x1), i);
            store_upper(rounded_or_nan(x2), rounded_or_nan(x3), i + 2 * kLanes);
        }
    }
    convert_from(i, a, o, n);
}

HalfConverters Kernels() {
    return {convert<Half, float>, convert<float, Half>, convert<Bfloat16, float>, float_to_bfloat16};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(HalfConverters, half_converters)

}  // namespace diopi::cpu
#endif
