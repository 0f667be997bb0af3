/// Sums, differences, products and quotients of two tensors or of a tensor and a number. One machine for all: the
/// operands are broadcast to out and the formula runs in the widest kind among them. Empty tensors and 0-dim ones need
/// no special case; NaN goes where arithmetic takes it.
#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <type_traits>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

template <class T, class F>
void row(T* out, const T* a, int64_t step_a, const T* b, int64_t step_b, int64_t n, F f) {
    // out may be a itself, element for element: no iteration depends on another.
    if (step_a == 1 && step_b == 1) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    } else if (step_a == 1 && step_b == 0) {
        const T y = *b;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], y);
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step_a], b[i * step_b]);
    }
}

template <class T, class F>
void broadcast(Output<T>& out, const Operand<T>& a, const T* b, ShapeView shape_b, F f) {
    const Shape strides_a = broadcast_strides("input", a.shape(), out.shape());
    const Shape strides_b = broadcast_strides("other", shape_b, out.shape());
    const Shape dense = contiguous_strides(out.shape());
    const Rows<3> rows(out.shape(), {ShapeView(dense), ShapeView(strides_a), ShapeView(strides_b)});
    rows.for_each([&](const Rows<3>::Offsets& at) {
        row(out.data() + at[0], a.data() + at[1], rows.step()[1], b + at[2], rows.step()[2], rows.length(), f);
    });
}

/// The second operand: a tensor or a number.
struct Other {
    diopiConstTensorHandle_t tensor = nullptr;
    const diopiScalar_t* scalar = nullptr;

    [[nodiscard]] Dtype dtype() const { return tensor ? view_of(tensor).dtype : from_c(scalar->stype); }
};

/// A number acts in the dtype of the operation: without a float64 tensor that is float32 (PyTorch's opmath type).
template <class T>
T number_as(const diopiScalar_t& scalar, diopiConstTensorHandle_t input, const Other& other) {
    const auto is_wide = [](Dtype dtype) { return dtype == Dtype::float64 || dtype == Dtype::complex128; };
    const T number = scalar_as<T>(scalar);
    if (is_wide(view_of(input).dtype) || (other.tensor != nullptr && is_wide(view_of(other.tensor).dtype)))
        return number;
    if constexpr (std::is_same_v<T, double>)
        return static_cast<float>(number);
    else if constexpr (std::is_same_v<T, Complex>)
        return Complex(std::complex<float>(number));
    else
        return number;
}

template <class T, class F>
void apply(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other, F f) {
    const Operand<T> a(input, "input");
    std::optional<Operand<T>> b;
    if (other.tensor != nullptr) b.emplace(other.tensor, "other");
    Output<T> y(out, "out");
    const std::optional<Shape> wide = broadcast_shapes(a.shape(), b ? b->shape() : ShapeView());
    if (wide) require_shape("out", y.shape(), *wide);
    if (b) {
        broadcast(y, a, b->data(), b->shape(), f);
    } else {
        const T number = number_as<T>(*other.scalar, input, other);
        broadcast(y, a, &number, {}, f);
    }
    y.store();
}

Kind common_kind(diopiConstTensorHandle_t input, const Other& other) {
    return std::max(kind_of(view_of(input).dtype), kind_of(other.dtype()));
}

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
                return apply<Complex>(out, input, other, [=](Complex a, Complex b) { return a + factor * b; });
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

/// out = input * other; bool: and.
diopiError_t multiply(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other) {
    return kernel([&] {
        switch (common_kind(input, other)) {
            case Kind::kComplex:
                return apply<Complex>(out, input, other, [](Complex a, Complex b) { return a * b; });
            case Kind::kFloating:
                return apply<double>(out, input, other, [](double a, double b) { return a * b; });
            case Kind::kInteger:
            case Kind::kBool:
                return apply<int64_t>(out, input, other,
                                      [](int64_t a, int64_t b) { return wrap_multiply_add(a, b, 0); });
        }
    });
}

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

int64_t divide(int64_t a, int64_t b, bool down) {
    if (b == 0) refuse("other holds 0, wanted no integer division by zero");
    if (b == -1) return wrap_multiply_add(a, -1, 0);
    const int64_t quotient = a / b;
    return down && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// out = input / other. None: true division, integers as floating numbers. Trunc, floor: integers stay integers.
diopiError_t quotient(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other,
                      diopiRoundMode_t mode) {
    return kernel([&] {
        const Kind kind = common_kind(input, other);
        if (kind == Kind::kComplex) {
            if (mode != RoundModeNone)
                refuse_dtype("input", view_of(input).dtype, "a real dtype for a rounded quotient");
            return apply<Complex>(out, input, other, [](Complex a, Complex b) { return a / b; });
        }
        const bool integral = kind < Kind::kFloating;
        switch (mode) {
            case RoundModeNone:
                return apply<double>(out, input, other, [](double a, double b) { return a / b; });
            case RoundModeTrunc:
                if (integral) {
                    return apply<int64_t>(out, input, other, [](int64_t a, int64_t b) { return divide(a, b, false); });
                }
                return apply<double>(out, input, other, [](double a, double b) { return std::trunc(a / b); });
            case RoundModeFloor:
                if (integral) {
                    return apply<int64_t>(out, input, other, [](int64_t a, int64_t b) { return divide(a, b, true); });
                }
                return apply<double>(out, input, other, floor_divide);
            case RoundModeEND:
                break;
        }
        refuse("rounding_mode is " + std::to_string(mode) + ", wanted none, trunc or floor");
    });
}

}  // namespace

diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, {.tensor = other}, alpha, 1);
}
diopiError_t diopiAddInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return add_scaled(input, input, {.tensor = other}, alpha, 1);
}
diopiError_t diopiAddScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, {.scalar = other}, alpha, 1);
}
diopiError_t diopiAddInpScalar(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return add_scaled(input, input, {.scalar = other}, alpha, 1);
}

diopiError_t diopiSub(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, {.tensor = other}, alpha, -1);
}
diopiError_t diopiSubInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return add_scaled(input, input, {.tensor = other}, alpha, -1);
}
diopiError_t diopiSubScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    return add_scaled(out, input, {.scalar = other}, alpha, -1);
}
diopiError_t diopiSubInpScalar(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return add_scaled(input, input, {.scalar = other}, alpha, -1);
}

diopiError_t diopiMul(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
    return multiply(out, input, {.tensor = other});
}
diopiError_t diopiMulInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t other) {
    return multiply(input, input, {.tensor = other});
}
diopiError_t diopiMulScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    return multiply(out, input, {.scalar = other});
}
diopiError_t diopiMulInpScalar(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return multiply(input, input, {.scalar = other});
}

diopiError_t diopiDiv(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, diopiRoundMode_t rounding_mode) {
    return quotient(out, input, {.tensor = other}, rounding_mode);
}
diopiError_t diopiDivInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         diopiRoundMode_t rounding_mode) {
    return quotient(input, input, {.tensor = other}, rounding_mode);
}
diopiError_t diopiDivScalar(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, diopiRoundMode_t rounding_mode) {
    return quotient(out, input, {.scalar = other}, rounding_mode);
}
diopiError_t diopiDivInpScalar(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* other,
                               diopiRoundMode_t rounding_mode) {
    return quotient(input, input, {.scalar = other}, rounding_mode);
}

}  // namespace diopi::reference
