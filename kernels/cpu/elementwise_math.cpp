/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

struct Exp {
    static double one(double x) { return std::exp(x); }
    static __m256d four(__m256d x) { return exp(x); }
};

/// exp(x) - 1; near 0, where that has no digits left, two terms of the series.
struct Expm1 {
    static double one(double x) { return std::expm1(x); }
    static __m256d four(__m256d x) {
        const __m256d small = _mm256_cmp_pd(absolute(x), spread(0x1p-20), _CMP_LT_OQ);
        return select(exp(x) - spread(1.0), fma(x * spread(0.5), x, x), small);
    }
};

struct Log {
    static double one(double x) { return std::log(x); }
    static __m256d four(__m256d x) { return log(x); }
};

struct Log2 {
    static double one(double x) { return std::log2(x); }
    static __m256d four(__m256d x) { return log(x) * spread(1.4426950408889634); }
};

struct Log10 {
    static double one(double x) { return std::log10(x); }
    static __m256d four(__m256d x) { return log(x) * spread(0.4342944819032518); }
};

/// log(u) with u = 1 + x, corrected for the rounding of u.
struct Log1p {
    static double one(double x) { return std::log1p(x); }
    static __m256d four(__m256d x) {
        const __m256d u = x + spread(1.0), taken = u - spread(1.0);
        const __m256d plain =
            _mm256_or_pd(_mm256_cmp_pd(x, spread(HUGE_VAL), _CMP_EQ_OQ), _mm256_cmp_pd(x, spread(-1.0), _CMP_EQ_OQ));
        const __m256d y = select(log(u) * (x / taken), log(u), plain);
        return select(y, x, _mm256_cmp_pd(taken, spread(0.0), _CMP_EQ_OQ));
    }
};

struct Sqrt {
    static double one(double x) { return std::sqrt(x); }
    static __m256d four(__m256d x) { return _mm256_sqrt_pd(x); }
};

struct Rsqrt {
    static double one(double x) { return 1 / std::sqrt(x); }
    static __m256d four(__m256d x) { return spread(1.0) / _mm256_sqrt_pd(x); }
};

struct Reciprocal {
    static double one(double x) { return 1 / x; }
    static __m256d four(__m256d x) { return spread(1.0) / x; }
};

struct Sin {
    static double one(double x) { return std::sin(x); }
    static __m256d four(__m256d x) {
        const __m256d y = sine(x, 0);
        return select(y, x, _mm256_cmp_pd(x, spread(0.0), _CMP_EQ_OQ));  // the sign of 0
    }
};

struct Cos {
    static double one(double x) { return std::cos(x); }
    static __m256d four(__m256d x) { return sine(x, 1); }
};

struct Erf {
    static double one(double x) { return std::erf(x); }
};

/// (1 - e) / (1 + e) with e = exp(-2 |x|); near 0, where 1 - e has no digits left, three terms of the series.
struct Tanh {
    static double one(double x) { return std::tanh(x); }
    static __m256d four(__m256d x) {
        const __m256d e = exp(absolute(x) * spread(-2.0)), z = x * x;
        const __m256d far = with_sign_of((spread(1.0) - e) / (spread(1.0) + e), x);
        const __m256d near = x * fma(fma(spread(2.0 / 15), z, spread(-1.0 / 3)), z, spread(1.0));
        return select(far, near, _mm256_cmp_pd(absolute(x), spread(0x1p-8), _CMP_LT_OQ));
    }
};
struct TanhBackward {
    static double one(double g, double y) { return g * ((1 - y) * (1 + y)); }
    static __m256d four(__m256d g, __m256d y) { return g * ((spread(1.0) - y) * (spread(1.0) + y)); }
};

}  // namespace

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::cpu
