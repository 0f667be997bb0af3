/// Elementary functions of float32 and float64 vectors, compiled for each instruction set by Highway. Results below the
/// smallest normal number are right, too. Powers of float32 compute in float64, because an exponent of 100 magnifies a
/// rounding by as much. Coefficients: scripts/fit_polynomials.py. Methods: Muller, "Elementary Functions".
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
#include <utility>

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

template <class F, class T, size_t kLanes, size_t... kVectors>
HWY_INLINE T of_lane(F f, const T (&lanes)[sizeof...(kVectors)][kLanes], size_t i, std::index_sequence<kVectors...>) {
    return static_cast<T>(f(static_cast<double>(lanes[kVectors][i])...));
}
/// f, a function of float64 numbers, of each lane.
template <class F, class V, class... Vs>
HWY_NOINLINE V each(F f, V x, Vs... others) {
    using T = hn::TFromV<V>;
    const hn::DFromV<V> d;
    constexpr size_t kCount = 1 + sizeof...(others);
    HWY_ALIGN T lanes[kCount][HWY_LANES(T)];
    HWY_ALIGN T results[HWY_LANES(T)];
    size_t next = 0;
    hn::StoreU(x, d, lanes[next++]);
    (hn::StoreU(others, d, lanes[next++]), ...);
    for (size_t i = 0; i < HWY_LANES(T); ++i) results[i] = of_lane(f, lanes, i, std::make_index_sequence<kCount>());
    return hn::Load(d, results);
}

/// `near` where the mask is set, else far(x), which is computed only if it is needed. A lane depends on its own x
/// alone.
template <class V>
HWY_INLINE V near_or_far(hn::Mask<hn::DFromV<V>> is_near, V x, V near, V (*far)(V)) {
    if (HWY_LIKELY(hn::AllTrue(hn::DFromV<V>(), is_near))) return near;
    return choose(is_near, near, far(x));
}

template <class V>
HWY_INLINE V sqrt(V x) {
    return hn::Sqrt(x);
}
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
template <class V>
HWY_NOINLINE V far_sqrt(V x) {
    return hn::Sqrt(x);
}
/// From 1 / sqrt(x) with 14 bits: in less time than the processor's own root of 16 numbers takes, and the same number.
/// h is 1 / (2 sqrt(x)). Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000.
HWY_INLINE Float sqrt(Float x) {
    const Float start = hn::ApproximateReciprocalSqrt(x), half = spread(0.5F);
    const Float s = x * start, h = start * half;
    const Float error = hn::NegMulAdd(s, h, half);
    const Float root = fma(s, error, s);
    const Float near = fma(hn::NegMulAdd(root, root, x), fma(h, error, h), root);
    // The residual x - root^2 of a very small x is below the normal numbers and loses digits.
    return near_or_far(hn::And(hn::Ge(x, spread(0x1p-100F)), hn::Lt(x, spread(kInfinity))), x, near, far_sqrt<Float>);
}
#endif

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
    /// Up to this |x| exp(x), exp(-x) and their sums with 1 are normal numbers.
    static constexpr float kExpNormal = 87;
    static constexpr float kExpm1Low = -30, kExpm1High = 89;
    static constexpr float kLeastNormal = 0x1p-126F;
    /// pi / 2 is the sum of the parts, of which each has all its digits.
    static constexpr float kHalfPi[] = {1.57079637F, -4.37113883e-8F, -1.71512451e-15F};
    /// The largest angle that the three parts reduce.
    static constexpr float kLargestAngle = 0x1p18F;
    /// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, of r^2.
    static constexpr float kSine[] = {-0.166666523F, 0.00833200011F, -0.000194927328F};
    static constexpr float kCosine[] = {0.0416666418F, -0.00138871174F, 2.44096336e-05F};
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
    static constexpr double kExpNormal = 708;
    static constexpr double kExpm1Low = -60, kExpm1High = 710;
    static constexpr double kLeastNormal = 0x1p-1022;
    static constexpr double kHalfPi[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
    static constexpr double kLargestAngle = 0x1p30;
    // Coefficients: fdlibm, k_sin.c and k_cos.c.
    static constexpr double kSine[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                       -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                       -2.50507602534068634195e-08, 1.58969099521155010221e-10};
    static constexpr double kCosine[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                         2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                         2.08757232129817482790e-09, -1.13596475577881948265e-11};
};
template <class V>
using FormatOf = Format<hn::TFromV<V>>;
template <class V>
using BitsOf = hn::Vec<hn::RebindToSigned<hn::DFromV<V>>>;

/// The nearest whole number of a small x: adding kShift leaves it in the lowest bits.
template <class V>
struct Nearest {
    V value, shifted;
};
template <class V>
HWY_INLINE BitsOf<V> whole_of(V shifted) {
    const hn::RebindToSigned<hn::DFromV<V>> di;
    return hn::BitCast(di, shifted) - hn::BitCast(di, all<V>(FormatOf<V>::kShift));
}
/// x times 2 to that whole number, where both are normal numbers: the exponents are added, and kShift's own bits are
/// shifted out.
template <class V>
HWY_INLINE V times_power(V x, V shifted) {
    const hn::RebindToSigned<hn::DFromV<V>> di;
    const auto exponent = hn::ShiftLeft<FormatOf<V>::kFraction>(hn::BitCast(di, shifted));
    return hn::BitCast(hn::DFromV<V>(), hn::BitCast(di, x) + exponent);
}
template <class V>
HWY_INLINE Nearest<V> nearest_multiple(V x, V per_unit) {
    const V shift = all<V>(FormatOf<V>::kShift);
    const V shifted = hn::MulAdd(x, per_unit, shift);
    return {shifted - shift, shifted};
}
/// A small whole number as a floating one.
template <class V>
HWY_INLINE V to_number(BitsOf<V> k) {
    const hn::RebindToSigned<hn::DFromV<V>> di;
    const V shift = all<V>(FormatOf<V>::kShift);
    return hn::BitCast(hn::DFromV<V>(), hn::BitCast(di, shift) + k) - shift;
}

/// 2^k of a normal number.
template <class V>
HWY_INLINE V power_of_two(BitsOf<V> k) {
    using F = FormatOf<V>;
    const hn::RebindToSigned<hn::DFromV<V>> di;
    return hn::BitCast(hn::DFromV<V>(), hn::ShiftLeft<F::kFraction>(k + hn::Set(di, F::kBias)));
}

/// x = k log(2) + r with |r| <= log(2) / 2, and exp(r) = 1 + r + r^2 p; the whole number k, shifted.
template <class V>
struct ReducedExponent {
    V r, p, shifted;
};

/// x between kExpLow and kExpHigh of its format.
template <class V>
HWY_INLINE ReducedExponent<V> reduce_exponent(V x) {
    using F = FormatOf<V>;
    const Nearest<V> k = nearest_multiple(x, all<V>(F::kLog2e));
    const V r = hn::NegMulAdd(k.value, all<V>(F::kLog2Rest), hn::NegMulAdd(k.value, all<V>(F::kLog2), x));
    return {r, polynomial(r, F::kExpBelow), k.shifted};
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
    const BitsOf<V> whole = whole_of(e.shifted), half = hn::ShiftRight<1>(whole);
    return {power * power_of_two<V>(half), power_of_two<V>(whole - half)};
}

/// exp(x) of x that are not large: below 16, say. NaN stays: the maximum has its second operand then on x86, where it
/// is the faster way. NEON's has the number.
template <class V>
HWY_INLINE V exp_below(V x) {
    const V low = all<V>(FormatOf<V>::kExpLow);
    return scaled_exp(HWY_ARCH_X86 ? hn::Max(low, x) : choose(hn::Lt(x, low), low, x)).value();
}

/// exp(x) where it is a normal number.
template <class V>
HWY_INLINE V exp_normal(V x) {
    const ReducedExponent<V> e = reduce_exponent(x);
    return times_power(hn::MulAdd(e.r * e.r, e.p, e.r) + all<V>(1), e.shifted);
}

/// exp(x) of any x, NaN included.
template <class V>
HWY_NOINLINE V far_exp(V x) {
    using F = FormatOf<V>;
    return choose(is_number(x), scaled_exp(within(x, F::kExpLow, F::kExpHigh)).value(), x);
}

/// Whether |x| is at most kExpNormal; not so for NaN.
template <class V>
HWY_INLINE auto has_normal_exp(V x) {
    return hn::Le(absolute(x), all<V>(FormatOf<V>::kExpNormal));
}

template <class V>
HWY_INLINE V exp(V x) {
    return near_or_far(has_normal_exp(x), x, exp_normal(x), far_exp<V>);
}

/// exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1), halved and doubled again because 2^(largest exponent + 1) is no number.
template <class V>
HWY_INLINE V expm1(V x) {
    using F = FormatOf<V>;
    const hn::RebindToSigned<hn::DFromV<V>> di;
    const ReducedExponent<V> e = reduce_exponent(within(x, F::kExpm1Low, F::kExpm1High));
    const V below = hn::MulAdd(e.r * e.r, e.p, e.r);
    const V half = power_of_two<V>(whole_of(e.shifted) - hn::Set(di, 1));
    const V y = hn::MulAdd(half, below, half - all<V>(0.5));
    return choose(hn::And(is_number(x), hn::Ne(x, all<V>(0))), y + y, x);
}

/// A positive number as m 2^e with m in [sqrt(1/2), sqrt(2)).
template <class V>
struct Split {
    V m;
    BitsOf<V> e;
};

template <class V>
HWY_INLINE Split<V> split_normal(V x) {
    using F = FormatOf<V>;
    const hn::DFromV<V> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto bits = hn::BitCast(di, x);
    const auto e = hn::ShiftRight<F::kFraction>(bits - hn::BitCast(di, all<V>(0.70710678118654752)));
    return {hn::BitCast(d, bits - hn::ShiftLeft<F::kFraction>(e)), e};
}
template <class V>
HWY_INLINE Split<V> split(V x) {
    using F = FormatOf<V>;
    const hn::RebindToSigned<hn::DFromV<V>> di;
    const auto is_small = hn::Lt(x, all<V>(F::kLeastNormal));
    const Split<V> s = split_normal(choose(is_small, x * power_of_two<V>(hn::Set(di, F::kFraction)), x));
    return {s.m, s.e - hn::IfThenElseZero(hn::RebindMask(di, is_small), hn::Set(di, F::kFraction))};
}

/// log(1 + f) - f; 1 + f in [sqrt(1/2), sqrt(2)).
HWY_INLINE Float log_below(Float f) {
    const Float p = polynomial(f, {0.333333164F, -0.250008106F, 0.200023115F, -0.166245744F, 0.141806901F,
                                   -0.131278455F, 0.128843218F, -0.0786551461F});
    const Float square = f * f;
    return fma(square * f, p, square * spread(-0.5F));
}
/// Formula and coefficients: fdlibm, e_log.c.
HWY_INLINE Double log_below(Double f) {
    const Double s = f / (f + all<Double>(2)), z = s * s, w = z * z, half_square = f * f * all<Double>(0.5);
    const Double even =
        w * polynomial(w, {3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01});
    const Double odd = z * polynomial(w, {6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
                                          1.479819860511658591e-01});
    return hn::MulSub(s, half_square + (odd + even), half_square);
}

/// e log(2) + log(1 + f)
template <class V>
HWY_INLINE V log_of(BitsOf<V> e, V f) {
    using F = FormatOf<V>;
    const V k = to_number<V>(e);
    return hn::MulAdd(k, all<V>(F::kLog2), f + hn::MulAdd(k, all<V>(F::kLog2Rest), log_below(f)));
}

/// y, the logarithm of x, where x is positive and finite.
template <class V>
HWY_INLINE V logarithm(V x, V y) {
    y = choose(hn::Eq(x, all<V>(0)), all<V>(-HUGE_VAL), y);
    y = choose(is_negative(x), all<V>(std::nan("")), y);
    return choose(hn::Lt(x, all<V>(HUGE_VAL)), y, x);
}

/// The logarithm of any x to a base; of m 2^e it is Base::of(e, m - 1).
template <class Base, class V>
HWY_NOINLINE V far_log(V x) {
    const Split<V> s = split(x);
    return logarithm(x, Base::of(s.e, s.m - all<V>(1)));
}
template <class Base, class V>
HWY_INLINE V log_to_base(V x) {
    const Split<V> s = split_normal(x);
    const auto is_normal = hn::And(hn::Ge(x, all<V>(FormatOf<V>::kLeastNormal)), hn::Lt(x, all<V>(HUGE_VAL)));
    return near_or_far(is_normal, x, Base::of(s.e, s.m - all<V>(1)), far_log<Base, V>);
}

struct BaseE {
    template <class V>
    static HWY_INLINE V of(BitsOf<V> e, V f) {
        return log_of(e, f);
    }
};
template <class V>
HWY_INLINE V log(V x) {
    return log_to_base<BaseE>(x);
}

/// A number as the sum of one of type T and the rest.
template <class T>
struct InParts {
    T number, rest;
};

/// The logarithm of (1 + f) 2^e to a base: the natural one times `factor`; `unit` is the logarithm of 2.
template <class V, class T = hn::TFromV<V>>
HWY_INLINE V log_in_parts(BitsOf<V> e, V f, InParts<T> factor, InParts<T> unit) {
    const V k = to_number<V>(e);
    const V below = hn::MulAdd(f, all<V>(factor.rest), log_below(f) * all<V>(factor.number));
    const V rest = hn::MulAdd(f, all<V>(factor.number), hn::MulAdd(k, all<V>(unit.rest), below));
    return hn::MulAdd(k, all<V>(unit.number), rest);
}
struct Base2 {
    static HWY_INLINE Float of(Int e, Float f) { return log_in_parts(e, f, {1.44269502F, 1.92596303e-8F}, {1, 0}); }
    static HWY_INLINE Double of(BitsOf<Double> e, Double f) {
        return log_in_parts(e, f, {1.4426950408889634, 2.0355273740931033e-17}, {1, 0});
    }
};
struct Base10 {
    static HWY_INLINE Float of(Int e, Float f) {
        return log_in_parts(e, f, {0.434294492F, -1.010305e-8F}, {0.301025391F, 4.60503907e-6F});
    }
    static HWY_INLINE Double of(BitsOf<Double> e, Double f) {
        return log_in_parts(e, f, {0.4342944819032518, 1.098319650216765e-17},
                            {0.30102999566361177, 3.694239077158931e-13});
    }
};

/// log(u) with u = 1 + x, and what u lost of x.
template <class V>
HWY_INLINE V log1p(V x) {
    const hn::RebindToSigned<hn::DFromV<V>> di;
    const V u = x + all<V>(1);
    const V lost = x - (u - all<V>(1));
    const Split<V> s = split(u);
    const V scale = power_of_two<V>(hn::Neg(hn::Min(s.e, hn::Set(di, FormatOf<V>::kBias - 1))));
    const V y = logarithm(u, log_of(s.e, hn::MulAdd(lost, scale, s.m - all<V>(1))));
    return choose(hn::Eq(x, all<V>(0)), x, y);
}

struct StandardSine {
    double operator()(double x) const { return std::sin(x); }
};
struct StandardCosine {
    double operator()(double x) const { return std::cos(x); }
};

/// x minus the nearest multiple of pi / 2, the sine and the cosine of the rest, and the multiple: quarters of a turn.
template <class V>
struct SineAndCosine {
    V sine, cosine;
    BitsOf<V> quarters;

    /// Whether the sine and the cosine of x are, but for the sign, the cosine and the sine of the rest.
    [[nodiscard]] HWY_INLINE static auto is_odd(BitsOf<V> quarters) {
        const hn::DFromV<V> d;
        const hn::RebindToSigned<decltype(d)> di;
        return hn::MaskFromVec(hn::BitCast(d, hn::Neg(hn::And(quarters, hn::Set(di, 1)))));
    }
};
template <class V>
HWY_INLINE SineAndCosine<V> sine_and_cosine(V x) {
    using F = FormatOf<V>;
    const Nearest<V> k = nearest_multiple(x, all<V>(0.63661977236758134));
    V r = x;
    for (const auto part : F::kHalfPi) r = hn::NegMulAdd(k.value, all<V>(part), r);
    const V z = r * r;
    const V sin = hn::MulAdd(r * z, polynomial(z, F::kSine), r);
    const V cos = hn::MulAdd(z * z, polynomial(z, F::kCosine), hn::MulAdd(z, all<V>(-0.5), all<V>(1)));
    return {sin, cos, whole_of(k.shifted)};
}

/// y, a function of the angle x, but the C library's where x is too large to be reduced. It leaves the other lanes as
/// they are: a result must not depend on its neighbours.
template <class Standard, class V>
HWY_INLINE V with_far(V y, V x, Standard standard) {
    const auto is_near = hn::Le(absolute(x), all<V>(FormatOf<V>::kLargestAngle));
    if (HWY_LIKELY(hn::AllTrue(hn::DFromV<V>(), is_near))) return y;
    return choose(is_near, y, each(standard, x));
}

/// sin(x + quarters pi / 2) of an x that can be reduced.
template <class V>
HWY_INLINE V turned(const SineAndCosine<V>& s, int quarters) {
    const hn::DFromV<V> d;
    const hn::RebindToSigned<decltype(d)> di;
    const BitsOf<V> quadrant = s.quarters + hn::Set(di, quarters);
    const V sign = hn::BitCast(d, hn::ShiftLeft<8 * sizeof(hn::TFromV<V>) - 2>(hn::And(quadrant, hn::Set(di, 2))));
    return hn::Xor(choose(SineAndCosine<V>::is_odd(quadrant), s.cosine, s.sine), sign);
}

template <class V>
HWY_INLINE V sine_of(V x, const SineAndCosine<V>& s) {
    return choose(hn::Eq(x, all<V>(0)), x, with_far(turned(s, 0), x, StandardSine()));  // the sign of 0
}
template <class V>
HWY_INLINE V cosine_of(V x, const SineAndCosine<V>& s) {
    return with_far(turned(s, 1), x, StandardCosine());
}

/// expm1(2 |x|) / (expm1(2 |x|) + 2)
HWY_INLINE Double tanh(Double x) {
    const Double e = expm1(within(absolute(x), 0, 25) * all<Double>(2));
    return choose(is_number(x), with_sign_of(e / (e + all<Double>(2)), x), x);
}

/// 1 - 2 / (exp(2 |x|) + 1); near 0 a polynomial. |x| = k log(2) / 2 + r, whose parts need not have more digits: a
/// large k leaves nothing of the quotient.
HWY_INLINE Float tanh(Float x) {
    using F = FormatOf<Float>;
    const Float z = x * x;
    const Float p = polynomial(z, {-0.333332986F, 0.133319363F, -0.05378481F, 0.0207996201F, -0.00590005191F});
    const Float near = fma(x * z, p, x);
    const Float inside = hn::Min(absolute(x), spread(10.0F));
    const Nearest<Float> k = nearest_multiple(inside, spread(2 * F::kLog2e));
    const Float r = hn::NegMulAdd(k.value, spread(0.346573591F), inside);
    const auto& c = F::kExpBelow;  // of 2 r
    const Float power = polynomial(r, {1, 2, 4 * c[0], 8 * c[1], 16 * c[2], 32 * c[3], 64 * c[4]});
    const Float far = spread(1.0F) - spread(2.0F) / (times_power(power, k.shifted) + spread(1.0F));
    return choose(hn::Ge(absolute(x), spread(0.6F)), with_sign_of(far, x), near);
}

/// exp(x^2) erfc(x) of x in [0, 11].
HWY_INLINE Float scaled_erfc(Float x) {
    const Float t = spread(1.0F) / fma(x, spread(0.5F), spread(1.0F));
    return polynomial(t, {-6.01146121e-06F, 0.282221377F, 0.281098455F, 0.249793395F, 0.181248814F, 0.0170881115F,
                          0.221154988F, -0.441418052F, 0.263855547F, -0.0550366491F});
}

/// exp(-x^2 / 2), `e` being that of the rounded square, with what the square loses.
HWY_INLINE Float with_rest_of_square(Float e, Float x, Float square) {
    return fma(e, hn::MulSub(x, x, square) * spread(-0.5F), e);
}
/// exp(-x^2 / 2) of x in [-15, 15].
HWY_INLINE Scaled<Float> scaled_bell(Float x) {
    const Float square = x * x;
    const Scaled<Float> e = scaled_exp(square * spread(-0.5F));
    return {with_rest_of_square(e.first, x, square), e.second};
}
/// The same of x in [-13, 13], where it is a normal number.
HWY_INLINE Float normal_bell(Float x) {
    const Float square = x * x;
    return with_rest_of_square(exp_normal(square * spread(-0.5F)), x, square);
}

/// x times the integral of the normal density from x on, x in [0, 13]. r is -x^2 / 2 less a multiple of log(2), whose
/// product with kLog2 is exact. The power of two is added to the exponent of a result that stays a normal number, or is
/// that of a small x, whose power is 2^0.
HWY_INLINE Float times_normal_tail(Float x) {
    using F = FormatOf<Float>;
    const Float t = spread(1.0F) / fma(x, spread(0.29F), spread(1.0F));
    const Float smooth = polynomial(t, {2.77446125e-05F, 0.115081057F, 0.121498182F, 0.0749886632F, 0.18857643F,
                                        -0.15362525F, 0.306925386F, -0.192664057F, 0.0391918197F});
    const Float half = x * spread(-0.5F);
    const Nearest<Float> k = nearest_multiple(half * x, spread(F::kLog2e));
    const Float r = hn::NegMulAdd(k.value, spread(F::kLog2Rest), hn::MulSub(half, x, k.value * spread(F::kLog2)));
    const Float power = fma(r * r, polynomial(r, F::kExpBelow), r) + spread(1.0F);
    return times_power(x * smooth * power, k.shifted);
}

HWY_INLINE Float erf(Float x) {
    const Float z = x * x;
    const Float near = x * polynomial(z, {1.12837923F, -0.376131386F, 0.112907656F, -0.0272241794F, 0.00605583889F,
                                          -0.00174056366F, 0.000461004442F});
    const Float inside = hn::Min(absolute(x), spread(4.0F));
    const Float bell = exp_normal(inside * hn::Neg(inside));
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
    return choose(is_plain, power, each(StandardPower(), x, y));
}

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIOPI_CPU_VECTOR_MATH
