/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_math.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"

// clang-format off
#define FORMULAS(X) \
    X(Exp) X(Expm1) X(Log) X(Log2) X(Log10) X(Log1p) \
    X(Sqrt) X(Rsqrt) X(Reciprocal) X(Sin) X(Cos) \
    X(Erf) X(Tanh) X(TanhBackward) X(Asinh) X(Acosh) X(Atanh)
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// log(1 + y), or log(2 x) where x is so large that its square might be infinite.
template <class V>
HWY_INLINE V log1p_or_twice(V x, V y) {
    const auto is_large = hn::Gt(x, all<V>(0x1p60));
    return log1p(choose(is_large, x, y)) + hn::IfThenElseZero(is_large, all<V>(M_LN2));
}

struct Exp {
    static double one(double x) { return std::exp(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return exp(x);
    }
};

struct Expm1 {
    static double one(double x) { return std::expm1(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return expm1(x);
    }
};

struct Log {
    static double one(double x) { return std::log(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return log(x);
    }
};

struct Log2 {
    static double one(double x) { return std::log2(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return log_to_base<Base2>(x);
    }
};

struct Log10 {
    /// That of the C library in double has errors of up to 2 ulp.
    static double one(double x) { return static_cast<double>(std::log10(static_cast<long double>(x))); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return log_to_base<Base10>(x);
    }
};

struct Log1p {
    static double one(double x) { return std::log1p(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return log1p(x);
    }
};

struct Sqrt {
    static double one(double x) { return std::sqrt(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        // Only here: next to a division (rsqrt) the steps from an estimate are faster on a Zen 4, too.
        return processor.has_quick_roots ? hn::Sqrt(x) : sqrt(x);
    }
};

struct Rsqrt {
    static double one(double x) { return 1 / std::sqrt(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return all<V>(1) / sqrt(x);
    }
};

struct Reciprocal {
    static double one(double x) { return 1 / x; }
    template <class V>
    static HWY_INLINE V many(V x) {
        return all<V>(1) / x;
    }
};

struct Sin {
    static double one(double x) { return std::sin(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return sine_of(x, sine_and_cosine(x));
    }
};

struct Cos {
    static double one(double x) { return std::cos(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return cosine_of(x, sine_and_cosine(x));
    }
};

struct Erf {
    static double one(double x) { return std::erf(x); }
    static HWY_INLINE Float many(Float x) { return erf(x); }
};

struct Tanh {
    static double one(double x) { return std::tanh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return tanh(x);
    }
};
struct TanhBackward {
    static double one(double g, double y) { return g * ((1 - y) * (1 + y)); }
    template <class V>
    static HWY_INLINE V many(V g, V y) {
        return g * ((all<V>(1) - y) * (all<V>(1) + y));
    }
};

struct Asinh {
    static double one(double x) { return std::asinh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const V a = absolute(x), square = a * a;
        return with_sign_of(log1p_or_twice(a, a + square / (all<V>(1) + sqrt(square + all<V>(1)))), x);
    }
};

struct Acosh {
    static double one(double x) { return std::acosh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const V above = x - all<V>(1);
        const V y = log1p_or_twice(x, above + sqrt(above * (x + all<V>(1))));
        return choose(hn::Lt(x, all<V>(1)), all<V>(std::nan("")), y);
    }
};

struct Atanh {
    static double one(double x) { return std::atanh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const V a = absolute(x);
        return with_sign_of(all<V>(0.5) * log1p((a + a) / (all<V>(1) - a)), x);
    }
};

}  // namespace

FORMULAS(DIOPI_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

FORMULAS(DIOPI_FORMULA)

}  // namespace

template <>
constexpr bool kIsQuick<Sqrt> = true;
template <>
constexpr bool kIsQuick<Reciprocal> = true;

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::cpu
#endif
