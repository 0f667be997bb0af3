/// Conversions between half types and float32, rounding to nearest, ties to even.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convert_half.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "core/half.hpp"
#include "kernels/cpu/convert.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

void half_to_float(const void* from, void* to, int64_t n) {
    const Floats d;
    const hn::Rebind<hwy::float16_t, Floats> dh;
    const Half* a = static_cast<const Half*>(from);
    float* o = static_cast<float*>(to);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(a + i))), d, o + i);
    }
    for (; i < n; ++i) o[i] = to_float(a[i]);
}

void float_to_half(const void* from, void* to, int64_t n) {
    const Floats d;
    const hn::Rebind<hwy::float16_t, Floats> dh;
    const float* a = static_cast<const float*>(from);
    Half* o = static_cast<Half*>(to);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, a + i)), dh, reinterpret_cast<hwy::float16_t*>(o + i));
    }
    for (; i < n; ++i) o[i] = to_half(a[i]);
}

void bfloat16_to_float(const void* from, void* to, int64_t n) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    const hn::Rebind<uint16_t, Floats> dh;
    const uint16_t* a = static_cast<const uint16_t*>(from);
    float* o = static_cast<float*>(to);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, a + i)));
        hn::StoreU(hn::BitCast(d, bits), d, o + i);
    }
    for (; i < n; ++i) o[i] = to_float(Bfloat16{a[i]});
}

using Words = hn::VFromD<hn::RebindToUnsigned<Floats>>;

/// The numbers whose upper halves are those in bits of bfloat16, unless they are NaN.
HWY_INLINE Words rounded_to_upper(Words bits) {
    const hn::RebindToUnsigned<Floats> du;
    return bits + hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1)) + hn::Set(du, 0x7fff);
}

/// The same, and a quiet NaN for each NaN.
HWY_INLINE Words rounded_or_nan(Words bits) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    const auto x = hn::BitCast(d, bits);
    const auto nan = hn::Or(bits, hn::Set(du, 0x400000));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), nan, rounded_to_upper(bits));
}

/// Four vectors at once, which seldom have a NaN.
void float_to_bfloat16(const void* from, void* to, int64_t n) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    const hn::Repartition<uint16_t, Floats> dh;
    const float* a = static_cast<const float*>(from);
    uint16_t* o = static_cast<uint16_t*>(to);
    const auto store = [&](Words low, Words high, int64_t i) {
        hn::StoreU(hn::ConcatOdd(dh, hn::BitCast(dh, high), hn::BitCast(dh, low)), dh, o + i);
    };
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        const auto x0 = hn::LoadU(d, a + i), x1 = hn::LoadU(d, a + i + kLanes);
        const auto x2 = hn::LoadU(d, a + i + 2 * kLanes), x3 = hn::LoadU(d, a + i + 3 * kLanes);
        const auto w0 = hn::BitCast(du, x0), w1 = hn::BitCast(du, x1), w2 = hn::BitCast(du, x2),
                   w3 = hn::BitCast(du, x3);
        const auto sum = (x0 + x1) + (x2 + x3);  // NaN if one of them is, or if infinities cancel
        if (hn::AllFalse(d, hn::IsNaN(sum))) {
            store(rounded_to_upper(w0), rounded_to_upper(w1), i);
            store(rounded_to_upper(w2), rounded_to_upper(w3), i + 2 * kLanes);
        } else {
            store(rounded_or_nan(w0), rounded_or_nan(w1), i);
            store(rounded_or_nan(w2), rounded_or_nan(w3), i + 2 * kLanes);
        }
    }
    for (; i < n; ++i) o[i] = to_bfloat16(a[i]).bits;
}

HalfConverters Converters() { return {half_to_float, float_to_half, bfloat16_to_float, float_to_bfloat16}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

HWY_EXPORT(Converters);

const HalfConverters& half_converters() {
    static const HalfConverters kBest = HWY_DYNAMIC_DISPATCH(Converters)();
    return kBest;
}

}  // namespace diopi::cpu
#endif
