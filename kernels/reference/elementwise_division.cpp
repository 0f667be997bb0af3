/// Quotients, plain or rounded, of two tensors or of a tensor and a number.
#include <cmath>
#include <complex>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The largest integer not above the exact quotient, as PyTorch has it: from the remainder, so that a quotient which
/// rounds up to an integer is not taken for it.
double floor_divide(double a, double b) {
    if (b == 0.0) return a / b;
    const double remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0.0 && (b < 0.0) != (remainder < 0.0)) quotient -= 1.0;
    if (quotient == 0.0) return std::copysign(0.0, a / b);
    const double floor = std::floor(quotient);
    return quotient - floor > 0.5 ? floor + 1.0 : floor;
}

/// In long double, which has a wider range: products on the way must not overflow where the quotient does not.
Complex divide_complex(Complex a, Complex b) {
    using Wide = std::complex<long double>;
    return Complex(Wide(a) / Wide(b));
}

int64_t divide_integers(int64_t a, int64_t b, bool down) {
    if (b == 0) refuse("other holds 0, wanted no integer division by zero");
    if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    const int64_t quotient = a / b;
    return down && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// The relative error of a quotient of integers that the working format does not hold: one rounding each.
double rounding_of_integers(double a, double b) {
    const auto is_held = [](double x) {
        int exponent = 0;
        const double digits = std::frexp(x, &exponent) / working_format.roundoff;
        return digits == std::trunc(digits);
    };
    return ((is_held(a) ? 0 : 1) + (is_held(b) ? 0 : 1)) * working_format.roundoff;
}

/// 1 where a quotient that is rounded before it is truncated may give the whole number above; else 0.
double truncation_error(double a, double b) {
    const double quotient = a / b;
    const double rounding = std::fabs(quotient) * (working_format.roundoff + rounding_of_integers(a, b));
    return std::trunc(quotient - rounding) == std::trunc(quotient + rounding) ? 0 : 1;
}

/// The same for the greatest whole number below: the remainder is subtracted, the difference divided, and 1 subtracted
/// where the signs differ.
double floor_error(double a, double b) {
    const double quotient = std::fabs(a / b), rounding = quotient * rounding_of_integers(a, b);
    return std::floor(quotient + rounding) - std::floor(quotient - rounding) +
           std::floor(0.5 + 3 * quotient * working_format.roundoff);
}

/// out = input / other. None: true division, integers as floating numbers. Trunc, floor: integers stay integers.
diopiError_t div(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other, diopiRoundMode_t mode) {
    return kernel([&] {
        const Kind kind = common_kind(input, other);
        if (kind == Kind::kComplex) {
            if (mode != RoundModeNone)
                refuse_dtype("input", view_of(input).dtype, "a real dtype for a rounded quotient");
            return apply<Complex>(out, input, other, divide_complex);
        }
        const bool integral = kind < Kind::kFloating;
        switch (mode) {
            case RoundModeNone:
                return apply<double>(out, input, other, [](double a, double b) { return a / b; });
            case RoundModeTrunc:
                if (integral) {
                    return apply<int64_t>(out, input, other,
                                          [](int64_t a, int64_t b) { return divide_integers(a, b, false); });
                }
                if (ctx->errors_in) {
                    working_format = WorkingFormat(*ctx->errors_in);
                    ctx->has_errors = true;
                    return apply<double>(out, input, other, truncation_error);
                }
                return apply<double>(out, input, other, [](double a, double b) { return std::trunc(a / b); });
            case RoundModeFloor:
                if (integral) {
                    return apply<int64_t>(out, input, other,
                                          [](int64_t a, int64_t b) { return divide_integers(a, b, true); });
                }
                if (ctx->errors_in) {
                    working_format = WorkingFormat(*ctx->errors_in);
                    ctx->has_errors = true;
                    return apply<double>(out, input, other, floor_error);
                }
                return apply<double>(out, input, other, floor_divide);
            case RoundModeEND:
                break;
        }
        refuse("rounding_mode is " + std::to_string(mode) + ", wanted none, trunc or floor");
    });
}

}  // namespace

#include "kernels/entries/elementwise_division.inc"

}  // namespace diopi::reference
