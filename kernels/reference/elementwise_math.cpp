/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions: the C library in float64. Integers and bool
/// give floating results.
#include <cmath>

#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// e^x.
double exp_of(double x) { return std::exp(x); }
/// e^x - 1.
double expm1_of(double x) { return std::expm1(x); }
/// ln x; -inf at 0, NaN below.
double log_of(double x) { return std::log(x); }
double log2_of(double x) { return std::log2(x); }
double log10_of(double x) { return std::log10(x); }
/// ln(1 + x).
double log1p_of(double x) { return std::log1p(x); }
/// NaN below 0.
double sqrt_of(double x) { return std::sqrt(x); }
/// 1 / sqrt(x); inf at 0, NaN below.
double rsqrt_of(double x) { return 1.0 / std::sqrt(x); }
/// 1 / x; inf at 0.
double reciprocal_of(double x) { return 1.0 / x; }
/// NaN at infinity.
double sin_of(double x) { return std::sin(x); }
/// NaN at infinity.
double cos_of(double x) { return std::cos(x); }
double erf_of(double x) { return std::erf(x); }

}  // namespace

diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, exp_of);
}
diopiError_t diopiExpInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, exp_of); }

diopiError_t diopiExpm1(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, expm1_of);
}
diopiError_t diopiExpm1Inp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, expm1_of); }

diopiError_t diopiLog(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, log_of);
}
diopiError_t diopiLogInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, log_of); }

diopiError_t diopiLog2(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, log2_of);
}
diopiError_t diopiLog2Inp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, log2_of); }

diopiError_t diopiLog10(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, log10_of);
}
diopiError_t diopiLog10Inp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, log10_of); }

diopiError_t diopiLog1p(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, log1p_of);
}
diopiError_t diopiLog1pInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, log1p_of); }

diopiError_t diopiSqrt(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, sqrt_of);
}
diopiError_t diopiSqrtInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, sqrt_of); }

diopiError_t diopiRsqrt(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, rsqrt_of);
}
diopiError_t diopiRsqrtInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, rsqrt_of); }

diopiError_t diopiReciprocal(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, reciprocal_of);
}
diopiError_t diopiReciprocalInp(diopiContextHandle_t, diopiTensorHandle_t input) {
    return map(input, input, reciprocal_of);
}

diopiError_t diopiSin(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, sin_of);
}
diopiError_t diopiSinInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, sin_of); }

diopiError_t diopiCos(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, cos_of);
}
diopiError_t diopiCosInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, cos_of); }

diopiError_t diopiErf(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, erf_of);
}
diopiError_t diopiErfInp(diopiContextHandle_t, diopiTensorHandle_t input) { return map(input, input, erf_of); }

diopiError_t diopiTanh(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](double x) { return std::tanh(x); });
}

diopiError_t diopiTanhInp(diopiContextHandle_t, diopiTensorHandle_t input) {
    return map(input, input, [](double x) { return std::tanh(x); });
}

/// grad_input = g (1 - y^2).
diopiError_t diopiTanhBackward(diopiContextHandle_t, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output) {
    return map_gradient(grad_input, grad_output, output, [](double g, double y) { return g * (1.0 - y * y); });
}

}  // namespace diopi::reference
