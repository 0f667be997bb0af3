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
    X(Erf) X(Tanh) X(TanhBackward)
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

struct Exp {
    static double one(double x) { return std::exp(x); }
    static HWY_INLINE Float many(Float x) { return exp(x); }
};

struct Expm1 {
    static double one(double x) { return std::expm1(x); }
    static HWY_INLINE Float many(Float x) { return expm1(x); }
};

struct Log {
    static double one(double x) { return std::log(x); }
    static HWY_INLINE Float many(Float x) { return log(x); }
};

struct Log2 {
    static double one(double x) { return std::log2(x); }
    static HWY_INLINE Float many(Float x) { return log_to_base(x, 1.44269502F, 1.92596303e-8F, 1.0F, 0.0F); }
};

struct Log10 {
    static double one(double x) { return std::log10(x); }
    static HWY_INLINE Float many(Float x) {
        return log_to_base(x, 0.434294492F, -1.010305e-8F, 0.301025391F, 4.60503907e-6F);
    }
};

struct Log1p {
    static double one(double x) { return std::log1p(x); }
    static HWY_INLINE Float many(Float x) { return log1p(x); }
};

struct Sqrt {
    static double one(double x) { return std::sqrt(x); }
    static HWY_INLINE Float many(Float x) { return hn::Sqrt(x); }
};

struct Rsqrt {
    static double one(double x) { return 1 / std::sqrt(x); }
    static HWY_INLINE Float many(Float x) { return spread(1.0F) / hn::Sqrt(x); }
};

struct Reciprocal {
    static double one(double x) { return 1 / x; }
    static HWY_INLINE Float many(Float x) { return spread(1.0F) / x; }
};

struct Sin {
    static double one(double x) { return std::sin(x); }
    static HWY_INLINE Float many(Float x) {
        return choose(hn::Eq(x, spread(0.0F)), x, sine<StandardSine>(x, 0));  // the sign of 0
    }
};

struct Cos {
    static double one(double x) { return std::cos(x); }
    static HWY_INLINE Float many(Float x) { return sine<StandardCosine>(x, 1); }
};

struct Erf {
    static double one(double x) { return std::erf(x); }
    static HWY_INLINE Float many(Float x) { return erf(x); }
};

struct Tanh {
    static double one(double x) { return std::tanh(x); }
    static HWY_INLINE Float many(Float x) { return tanh(x); }
};
struct TanhBackward {
    static double one(double g, double y) { return g * ((1 - y) * (1 + y)); }
    static HWY_INLINE Float many(Float g, Float y) { return g * ((spread(1.0F) - y) * (spread(1.0F) + y)); }
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

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::cpu
#endif
