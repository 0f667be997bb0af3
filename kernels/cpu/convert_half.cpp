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

void float_to_bfloat16(const void* from, void* to, int64_t n) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    const hn::RebindToSigned<Floats> di;
    const hn::Rebind<uint16_t, Floats> dh;
    const float* a = static_cast<const float*>(from);
    uint16_t* o = static_cast<uint16_t*>(to);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const auto x = hn::LoadU(d, a + i);
        const auto bits = hn::BitCast(du, x), high = hn::ShiftRight<16>(bits);
        const auto is_odd = hn::And(high, hn::Set(du, 1));
        const auto rounded = hn::ShiftRight<16>(bits + is_odd + hn::Set(du, 0x7fff));
        const auto nan = hn::Or(high, hn::Set(du, 0x40));
        const auto half = hn::IfThenElse(hn::RebindMask(du, hn::Ne(x, x)), nan, rounded);
        hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, half)), dh, o + i);
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
