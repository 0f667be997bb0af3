/// Elementary functions of float32 vectors, compiled for each instruction set by Highway. Results below the smallest
/// normal number are right, too. Powers compute in float64, because an exponent of 100 magnifies a rounding by as much.
/// Coefficients: scripts/fit_polynomials.py. Methods: Muller, "Elementary Functions".
///
/// A lambda does not get the instruction set of the functions around it: none of these functions has one.
#if defined(DIOPI_CPU_VECTOR_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef DIOPI_CPU_VECTOR_MATH
#undef DIOPI_CPU_VECTOR_MATH
#else
#define DIOPI_CPU_VECTOR_MATH
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Float = hn::Vec<Floats>;
using Int = hn::Vec<Ints>;
using Mask = hn::Mask<Floats>;
using Doubles = hn::ScalableTag<double>;
using Double = hn::Vec<Doubles>;

constexpr size_t kLanes = HWY_LANES(float);
constexpr float kInfinity = HUGE_VALF;

HWY_INLINE Float spread(float x) { return hn::Set(Floats(), x); }
HWY_INLINE Float fma(Float a, Float b, Float c) { return hn::MulAdd(a, b, c); }
/// The same number in each lane.
template <class V>
HWY_INLINE V all(double x) {
    return hn::Set(hn::DFromV<V>(), static_cast<hn::TFromV<V>>(x));
}
template <class V>
HWY_INLINE V absolute(V x) {
    return hn::Abs(x);
}
template <class V>
HWY_INLINE V with_sign_of(V magnitude, V x) {
    return hn::CopySign(magnitude, x);
}
/// a where the mask is set, else b.
template <class V>
HWY_INLINE V choose(hn::Mask<hn::DFromV<V>> mask, V a, V b) {
    return hn::IfThenElse(mask, a, b);
}
template <class V>
HWY_INLINE auto is_number(V x) {
    return hn::Eq(x, x);
}
template <class V>
HWY_INLINE auto is_negative(V x) {
    return hn::Lt(x, hn::Zero(hn::DFromV<V>()));
}
/// x cut off to [low, high]; NaN becomes a number of them.
template <class V>
HWY_INLINE V within(V x, hn::TFromV<V> low, hn::TFromV<V> high) {
    return hn::Min(hn::Max(choose(is_number(x), x, all<V>(low)), all<V>(low)), all<V>(high));
}

/// c[0] + c[1] x + ...
template <class V, size_t kCount>
HWY_INLINE V polynomial(V x, const hn::TFromV<V> (&c)[kCount]) {
    const hn::DFromV<V> d;
    V p = hn::Set(d, c[kCount - 1]);
    for (size_t i = kCount - 1; i-- > 0;) p = hn::MulAdd(p, x, hn::Set(d, c[i]));
    return p;
}

/// f, a function of one or two float64 numbers, of each lane.
template <class F>
HWY_NOINLINE Float each(Float x, F f) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(x, Floats(), lanes);
    for (float& lane : lanes) lane = static_cast<float>(f(static_cast<double>(lane)));
    return hn::Load(Floats(), lanes);
}
template <class F>
HWY_NOINLINE Float each(Float x, Float y, F f) {
    HWY_ALIGN float lanes[kLanes], others[kLanes];
    hn::Store(x, Floats(), lanes);
    hn::Store(y, Floats(), others);
    for (size_t i = 0; i < kLanes; ++i) {
        lanes[i] = static_cast<float>(f(static_cast<double>(lanes[i]), static_cast<double>(others[i])));
    }
    return hn::Load(Floats(), lanes);
}

/// The formats of floating numbers, and what exp takes from them.
template <class T>
struct Format;
template <>
struct Format<float> {
    using Bits = int32_t;
    static constexpr int kFraction = 23, kBias = 127;
    /// Adding it leaves the nearest whole number in the lowest bits.
    static constexpr float kShift = 0x1.8p23F;
    static constexpr float kLog2e = 1.44269504F, kLog2 = 0.693145752F, kLog2Rest = 1.42860677e-6F;
    /// (exp(r) - 1 - r) / r^2
    static constexpr float kExpBelow[] = {0.5F, 0.16666539F, 0.041666612F, 0.00836710073F, 0.00139175227F};
    /// Where exp is 0, and beyond all numbers.
    static constexpr float kExpLow = -150, kExpHigh = 129;
};
template <>
struct Format<double> {
    using Bits = int64_t;
    static constexpr int kFraction = 52, kBias = 1023;
    static constexpr double kShift = 0x1.8p52;
    static constexpr double kLog2e = 1.4426950408889634, kLog2 = 0x1.62e42fefa38p-1, kLog2Rest = 0x1.ef35793c7673p-45;
    static constexpr double kExpBelow[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                           1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                           1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    static constexpr double kExpLow = -760, kExpHigh = 711;
};
template <class V>
using FormatOf = Format<hn::TFromV<V>>;
template <class V>
using BitsOf = hn::Vec<hn::RebindToSigned<hn::DFromV<V>>>;

/// 2^k of a normal number.
template <class V>
HWY_INLINE V power_of_two(BitsOf<V> k) {
    using F = FormatOf<V>;
    const hn::RebindToSigned<hn::DFromV<V>> di;
    return hn::BitCast(hn::DFromV<V>(), hn::ShiftLeft<F::kFraction>(k + hn::Set(di, F::kBias)));
}

/// x = whole log(2) + r with |r| <= log(2) / 2, and exp(r) = 1 + r + r^2 p.
template <class V>
struct ReducedExponent {
    V r, p;
    BitsOf<V> whole;
};

/// x between kExpLow and kExpHigh of its format.
template <class V>
HWY_INLINE ReducedExponent<V> reduce_exponent(V x) {
    using F = FormatOf<V>;
    const hn::DFromV<V> d;
    const hn::RebindToSigned<decltype(d)> di;
    const V shift = hn::Set(d, F::kShift);
    const V shifted = hn::MulAdd(x, hn::Set(d, F::kLog2e), shift);
    const V k = shifted - shift;
    const V r = hn::NegMulAdd(k, hn::Set(d, F::kLog2Rest), hn::NegMulAdd(k, hn::Set(d, F::kLog2), x));
    return {r, polynomial(r, F::kExpBelow), hn::BitCast(di, shifted) - hn::BitCast(di, shift)};
}

/// A number as the product of two, so that it has all digits although it is below the normal numbers.
template <class V>
struct Scaled {
    V first, second;
    [[nodiscard]] HWY_INLINE V value() const { return first * second; }
};

/// exp(x) of x between kExpLow and kExpHigh of its format.
template <class V>
HWY_INLINE Scaled<V> scaled_exp(V x) {
    const ReducedExponent<V> e = reduce_exponent(x);
    const V power = hn::MulAdd(e.r * e.r, e.p, e.r) + hn::Set(hn::DFromV<V>(), 1.0F);
    const BitsOf<V> half = hn::ShiftRight<1>(e.whole);
    return {power * power_of_two<V>(half), power_of_two<V>(e.whole - half)};
}

/// exp(x) of x that are not large: below 16, say. NaN stays: the maximum has its second operand then on x86, where it
/// is the faster way. NEON's has the number.
template <class V>
HWY_INLINE V exp_below(V x) {
    const V low = all<V>(FormatOf<V>::kExpLow);
    return scaled_exp(HWY_ARCH_X86 ? hn::Max(low, x) : choose(hn::Lt(x, low), low, x)).value();
}

template <class V>
HWY_INLINE V exp(V x) {
    using F = FormatOf<V>;
    return choose(is_number(x), scaled_exp(within(x, F::kExpLow, F::kExpHigh)).value(), x);
}

/// exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1), halved and doubled again because 2^128 is no float32 number.
HWY_INLINE Float expm1(Float x) {
    const ReducedExponent<Float> e = reduce_exponent(within(x, -30.0F, 89.0F));
    const Float below = fma(e.r * e.r, e.p, e.r);
    const Float half = power_of_two<Float>(e.whole - hn::Set(Ints(), 1));
    const Float y = fma(half, below, half - spread(0.5F));
    return choose(hn::And(is_number(x), hn::Ne(x, spread(0.0F))), y + y, x);
}

/// A positive number as m 2^e with m in [sqrt(1/2), sqrt(2)).
struct Split {
    Float m;
    Int e;
};

HWY_INLINE Split split(Float x) {
    const Ints di;
    const Mask is_small = hn::Lt(x, spread(0x1p-126F));
    const Int bits = hn::BitCast(di, choose(is_small, x * spread(0x1p23F), x));
    const Int e = hn::ShiftRight<23>(bits - hn::BitCast(di, spread(0.707106781F)));
    const Float m = hn::BitCast(Floats(), bits - hn::ShiftLeft<23>(e));
    return {m, e - hn::IfThenElseZero(hn::RebindMask(di, is_small), hn::Set(di, 23))};
}

/// log(1 + f) - f; 1 + f in [sqrt(1/2), sqrt(2)).
HWY_INLINE Float log_below(Float f) {
    const Float p = polynomial(f, {0.333333164F, -0.250008106F, 0.200023115F, -0.166245744F, 0.141806901F,
                                   -0.131278455F, 0.128843218F, -0.0786551461F});
    const Float square = f * f;
    return fma(square * f, p, square * spread(-0.5F));
}

/// e log(2) + log(1 + f)
HWY_INLINE Float log_of(Int e, Float f) {
    const Float k = hn::ConvertTo(Floats(), e);
    return fma(k, spread(0.693145752F), f + fma(k, spread(1.42860677e-6F), log_below(f)));
}

/// y, the logarithm of x, where x is positive and finite.
HWY_INLINE Float logarithm(Float x, Float y) {
    y = choose(hn::Eq(x, spread(0.0F)), spread(-kInfinity), y);
    y = choose(is_negative(x), spread(std::nanf("")), y);
    return choose(hn::Lt(x, spread(kInfinity)), y, x);
}

HWY_INLINE Float log(Float x) {
    const Split s = split(x);
    return logarithm(x, log_of(s.e, s.m - spread(1.0F)));
}

/// The logarithm to a base: log(x) times a factor in two parts; `unit` is the logarithm of 2 in two parts.
HWY_INLINE Float log_to_base(Float x, float factor, float factor_below, float unit, float unit_below) {
    const Split s = split(x);
    const Float f = s.m - spread(1.0F), k = hn::ConvertTo(Floats(), s.e);
    const Float below = fma(f, spread(factor_below), log_below(f) * spread(factor));
    const Float y = fma(k, spread(unit), fma(f, spread(factor), fma(k, spread(unit_below), below)));
    return logarithm(x, y);
}

/// log(u) with u = 1 + x, and what u lost of x.
HWY_INLINE Float log1p(Float x) {
    const Float u = x + spread(1.0F);
    const Float lost = x - (u - spread(1.0F));
    const Split s = split(u);
    const Float scale = power_of_two<Float>(hn::Neg(hn::Min(s.e, hn::Set(Ints(), 30))));
    const Float y = logarithm(u, log_of(s.e, fma(lost, scale, s.m - spread(1.0F))));
    return choose(hn::Eq(x, spread(0.0F)), x, y);
}

/// x minus the nearest multiple of pi / 2, in three parts of 24 digits; |x| <= 2^18.
struct ReducedAngle {
    Float r;
    Int quarters;
};

HWY_INLINE ReducedAngle reduce_angle(Float x) {
    const Float k = hn::Round(x * spread(0.636619772F));
    Float r = fma(k, spread(-1.57079637F), x);
    r = fma(k, spread(4.37113883e-8F), r);
    r = fma(k, spread(1.71512451e-15F), r);
    return {r, hn::ConvertTo(Ints(), k)};
}

struct StandardSine {
    double operator()(double x) const { return std::sin(x); }
};
struct StandardCosine {
    double operator()(double x) const { return std::cos(x); }
};

/// sin(x + quarters pi / 2). The C library computes large arguments, and leaves the other lanes as they are: a result
/// must not depend on its neighbours.
template <class Standard>
HWY_INLINE Float sine(Float x, int quarters) {
    const ReducedAngle a = reduce_angle(x);
    const Float z = a.r * a.r;
    const Float sin = fma(a.r * z, polynomial(z, {-0.166666523F, 0.00833200011F, -0.000194927328F}), a.r);
    const Float cos = fma(z * z, polynomial(z, {0.0416666418F, -0.00138871174F, 2.44096336e-05F}),
                          fma(z, spread(-0.5F), spread(1.0F)));
    const Ints di;
    const Int quadrant = a.quarters + hn::Set(di, quarters);
    const Mask is_odd = hn::MaskFromVec(hn::BitCast(Floats(), hn::Neg(hn::And(quadrant, hn::Set(di, 1)))));
    const Int sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(di, 2)));
    const Float y = hn::Xor(choose(is_odd, cos, sin), hn::BitCast(Floats(), sign));
    const Mask is_near = hn::Le(absolute(x), spread(0x1p18F));
    if (HWY_LIKELY(hn::AllTrue(Floats(), is_near))) return y;
    return choose(is_near, y, each(x, Standard()));
}

/// 1 - 2 / (exp(2 |x|) + 1); near 0 a polynomial.
HWY_INLINE Float tanh(Float x) {
    const Float z = x * x;
    const Float p = polynomial(z, {-0.333332986F, 0.133319363F, -0.05378481F, 0.0207996201F, -0.00590005191F});
    const Float near = fma(x * z, p, x);
    const Float e = scaled_exp(within(absolute(x), 0.0F, 10.0F) * spread(2.0F)).value();
    const Float far = spread(1.0F) - spread(2.0F) / (e + spread(1.0F));
    return choose(hn::Ge(absolute(x), spread(0.6F)), with_sign_of(far, x), near);
}

/// exp(x^2) erfc(x) of x in [0, 11].
HWY_INLINE Float scaled_erfc(Float x) {
    const Float t = spread(1.0F) / fma(x, spread(0.5F), spread(1.0F));
    return polynomial(t, {-6.01146121e-06F, 0.282221377F, 0.281098455F, 0.249793395F, 0.181248814F, 0.0170881115F,
                          0.221154988F, -0.441418052F, 0.263855547F, -0.0550366491F});
}

/// exp(-x^2 / 2) of x in [-15, 15], with what the square loses.
HWY_INLINE Scaled<Float> scaled_bell(Float x) {
    const Float square = x * x, below = hn::MulSub(x, x, square);
    const Scaled<Float> e = scaled_exp(square * spread(-0.5F));
    return {fma(e.first, below * spread(-0.5F), e.first), e.second};
}

HWY_INLINE Float erf(Float x) {
    const Float z = x * x;
    const Float near = x * polynomial(z, {1.12837923F, -0.376131386F, 0.112907656F, -0.0272241794F, 0.00605583889F,
                                          -0.00174056366F, 0.000461004442F});
    const Float inside = within(absolute(x), 0.0F, 4.0F);
    const Float bell = scaled_exp(inside * hn::Neg(inside)).value();
    const Float far = with_sign_of(hn::NegMulAdd(bell, scaled_erfc(inside), spread(1.0F)), x);
    return choose(hn::Ge(absolute(x), spread(0.9F)), far, near);
}

/// x^y of a positive, normal x, within 2^-34 where |y log(x)| < 150, and overflowing or 0 in float32 beyond.
HWY_INLINE Double positive_power(Double x, Double y) {
    const Doubles d;
    const hn::RebindToSigned<Doubles> di;
    const Double one = hn::Set(d, 1.0);
    // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log(m) is the series of 2 atanh((m - 1) / (m + 1)).
    const auto bits = hn::BitCast(di, x);
    const auto e = hn::ShiftRight<52>(bits - hn::BitCast(di, hn::Set(d, 0.7071067811865476)));
    const Double m = hn::BitCast(d, bits - hn::ShiftLeft<52>(e));
    // e as the fraction bits of 2^52 + 2^51, a number that the subtraction leaves.
    const Double shift = hn::Set(d, 0x1.8p52);
    const Double whole_log = hn::BitCast(d, hn::BitCast(di, shift) + e) - shift;
    const Double s = (m - one) / (m + one);
    const Double p = polynomial(s * s, {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15});
    const Double log_x = hn::MulAdd(whole_log, hn::Set(d, 0.6931471805599453), s * p);
    const Double exponent = hn::Min(hn::Max(y * log_x, hn::Set(d, -150.0)), hn::Set(d, 150.0));
    // exponent = k log(2) + r; 2^k times Taylor's polynomial of exp(r).
    const Double shifted = hn::MulAdd(exponent, hn::Set(d, 1.4426950408889634), shift);
    const Double k = shifted - shift;
    const Double r = hn::NegMulAdd(k, hn::Set(d, 0.6931471805599453), exponent);
    const Double power = polynomial(
        r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880});
    return hn::BitCast(d, hn::BitCast(di, power) + hn::ShiftLeft<52>(hn::BitCast(di, shifted)));
}

struct StandardPower {
    double operator()(double x, double y) const { return std::pow(x, y); }
};

/// x^y of a finite x other than 0 and a finite y; x * x where y is 2.
HWY_INLINE Float finite_power(Float x, Float y) {
    const Floats d;
    const Mask is_square = hn::Eq(y, spread(2.0F));
    if (hn::AllTrue(d, is_square)) return x * x;
    const hn::Half<Floats> half;
    const Doubles wide;
    const Float base = absolute(x);
    const Double low =
        positive_power(hn::PromoteTo(wide, hn::LowerHalf(half, base)), hn::PromoteTo(wide, hn::LowerHalf(half, y)));
    const Double high =
        positive_power(hn::PromoteTo(wide, hn::UpperHalf(half, base)), hn::PromoteTo(wide, hn::UpperHalf(half, y)));
    const Float power = hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
    // A negative base: whole exponents keep or drop its sign; from 2^24 on all are even.
    const Ints di;
    const Mask is_small = hn::Lt(absolute(y), spread(0x1p24F));
    const Int odd = hn::And(hn::ConvertTo(di, choose(is_small, y, spread(0.0F))), hn::Set(di, 1));
    const Float sign = hn::BitCast(Floats(), hn::ShiftLeft<31>(odd));
    const Float of_negative = choose(hn::Eq(hn::Round(y), y), hn::Xor(power, sign), spread(std::nanf("")));
    return choose(is_square, x * x, choose(is_negative(x), of_negative, power));
}

/// x^y. The C library computes powers of 0, infinity and NaN.
HWY_INLINE Float pow(Float x, Float y) {
    const Mask is_finite = hn::And(hn::Lt(absolute(x), spread(kInfinity)), hn::Lt(absolute(y), spread(kInfinity)));
    const Mask is_plain = hn::And(is_finite, hn::Ne(x, spread(0.0F)));
    const Float power = finite_power(x, y);
    if (HWY_LIKELY(hn::AllTrue(Floats(), is_plain))) return power;
    return choose(is_plain, power, each(x, y, StandardPower()));
}

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIOPI_CPU_VECTOR_MATH
