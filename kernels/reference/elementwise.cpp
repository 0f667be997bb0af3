/// Sums, differences and products of two tensors or of a tensor and a number. The operands are broadcast to out and the
/// formula runs in the widest kind among them. Empty tensors and 0-dim ones need no special case; NaN follows the
/// arithmetic.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

void require_alpha(Kind kind, const diopiScalar_t& alpha) {
    if (kind >= Kind::kFloating || kind_of(from_c(alpha.stype)) < Kind::kFloating) return;
    if (alpha.fval != std::trunc(alpha.fval)) {
        refuse("alpha is " + std::to_string(alpha.fval) + ", wanted an integer for tensors that are not floating");
    }
}

/// Two's complement: overflow wraps.
int64_t wrap_multiply_add(int64_t a, int64_t b, int64_t c) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c));
}

/// a * b. No product of two parts overflows on the way to a sum that does not.
Complex multiply(Complex a, Complex b) {
    const long double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
    return {static_cast<double>(ar * br - ai * bi), static_cast<double>(ar * bi + ai * br)};
}

/// out = input + sign * alpha * other, alpha null = 1. bool: or, with alpha taken as a truth value.
diopiError_t add_scaled(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other,
                        const diopiScalar_t* alpha, int sign) {
    return kernel([&] {
        const diopiScalar_t one{diopi_dtype_int64, {.ival = 1}};
        const diopiScalar_t& scale = alpha != nullptr ? *alpha : one;
        const Kind kind = common_kind(input, other);
        require_alpha(kind, scale);
        switch (kind) {
            case Kind::kComplex: {
                const Complex factor = number_as<Complex>(scale, input, other) * static_cast<double>(sign);
                return apply<Complex>(out, input, other, [=](Complex a, Complex b) { return a + multiply(factor, b); });
            }
            case Kind::kFloating: {
                const double factor = number_as<double>(scale, input, other) * sign;
                if (factor == 1.0) return apply<double>(out, input, other, [](double a, double b) { return a + b; });
                return apply<double>(out, input, other, [=](double a, double b) { return a + factor * b; });
            }
            case Kind::kInteger: {
                const int64_t factor = wrap_multiply_add(scalar_as<int64_t>(scale), sign, 0);
                return apply<int64_t>(out, input, other,
                                      [=](int64_t a, int64_t b) { return wrap_multiply_add(factor, b, a); });
            }
            case Kind::kBool: {
                if (sign < 0) refuse_dtype("input", Dtype::boolean, "a number: bool has no difference");
                const bool taken = scalar_as<double>(scale) != 0;
                return apply<int64_t>(out, input, other,
                                      [=](int64_t a, int64_t b) { return int64_t{a != 0 || (taken && b != 0)}; });
            }
        }
    });
}

diopiError_t add(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, other, alpha, 1);
}
diopiError_t sub(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, other, alpha, -1);
}

/// out = input * other; bool: and.
diopiError_t mul(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other) {
    return kernel([&] {
        switch (common_kind(input, other)) {
            case Kind::kComplex:
                return apply<Complex>(out, input, other, [](Complex a, Complex b) { return multiply(a, b); });
            case Kind::kFloating:
                return apply<double>(out, input, other, [](double a, double b) { return a * b; });
            case Kind::kInteger:
            case Kind::kBool:
                return apply<int64_t>(out, input, other,
                                      [](int64_t a, int64_t b) { return wrap_multiply_add(a, b, 0); });
        }
    });
}

}  // namespace

#include "kernels/entries/elementwise.inc"

}  // namespace diopi::reference
