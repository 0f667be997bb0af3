/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary.hpp"

namespace diopi::cpu {

namespace {

struct Exp {
    static double one(double x) { return std::exp(x); }
    static __m256d four(__m256d x) { return exp(x); }
};

/// exp(x) - 1, which near 0 has no digits left; there two terms of the series.
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

/// log(u) of u = 1 + x, times what the rounding of u took from x.
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
struct TanhSlope {
    static double one(double g, double y) { return g * ((1 - y) * (1 + y)); }
    static __m256d four(__m256d g, __m256d y) { return g * ((spread(1.0) - y) * (spread(1.0) + y)); }
};

}  // namespace

diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Exp>(ctx, "diopiExp", out, input);
}
diopiError_t diopiExpInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Exp>(ctx, "diopiExpInp", input, input);
}

diopiError_t diopiExpm1(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Expm1>(ctx, "diopiExpm1", out, input);
}
diopiError_t diopiExpm1Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Expm1>(ctx, "diopiExpm1Inp", input, input);
}

diopiError_t diopiLog(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Log>(ctx, "diopiLog", out, input);
}
diopiError_t diopiLogInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Log>(ctx, "diopiLogInp", input, input);
}

diopiError_t diopiLog2(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Log2>(ctx, "diopiLog2", out, input);
}
diopiError_t diopiLog2Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Log2>(ctx, "diopiLog2Inp", input, input);
}

diopiError_t diopiLog10(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Log10>(ctx, "diopiLog10", out, input);
}
diopiError_t diopiLog10Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Log10>(ctx, "diopiLog10Inp", input, input);
}

diopiError_t diopiLog1p(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Log1p>(ctx, "diopiLog1p", out, input);
}
diopiError_t diopiLog1pInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Log1p>(ctx, "diopiLog1pInp", input, input);
}

diopiError_t diopiSqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Sqrt>(ctx, "diopiSqrt", out, input);
}
diopiError_t diopiSqrtInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Sqrt>(ctx, "diopiSqrtInp", input, input);
}

diopiError_t diopiRsqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Rsqrt>(ctx, "diopiRsqrt", out, input);
}
diopiError_t diopiRsqrtInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Rsqrt>(ctx, "diopiRsqrtInp", input, input);
}

diopiError_t diopiReciprocal(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Reciprocal>(ctx, "diopiReciprocal", out, input);
}
diopiError_t diopiReciprocalInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Reciprocal>(ctx, "diopiReciprocalInp", input, input);
}

diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Sin>(ctx, "diopiSin", out, input);
}
diopiError_t diopiSinInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Sin>(ctx, "diopiSinInp", input, input);
}

diopiError_t diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Cos>(ctx, "diopiCos", out, input);
}
diopiError_t diopiCosInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Cos>(ctx, "diopiCosInp", input, input);
}

diopiError_t diopiErf(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Erf>(ctx, "diopiErf", out, input);
}
diopiError_t diopiErfInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Erf>(ctx, "diopiErfInp", input, input);
}

diopiError_t diopiTanh(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return apply_unary<Tanh>(ctx, "diopiTanh", out, input);
}

diopiError_t diopiTanhInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return apply_unary<Tanh>(ctx, "diopiTanhInp", input, input);
}

diopiError_t diopiTanhBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output) {
    return apply_gradient<TanhSlope>(ctx, "diopiTanhBackward", grad_input, grad_output, output);
}

}  // namespace diopi::cpu
