/// Remainders with the sign of the divisor.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// a - b floor(a / b). NaN where b is 0 or a is infinite; b where it is infinite and of another sign than a.
double floored_remainder(double a, double b) {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t floored_remainder(int64_t a, int64_t b) {
    if (b == 0) refuse("other holds 0, wanted no integer division by zero");
    if (b == -1) return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Source: torch.remainder, which converts both operands to their common dtype first.
diopiError_t remainder(diopiTensorHandle_t out, const Other& a, const Other& b, Dtype dtype) {
    return kernel([&] {
        const Kind kind = kind_of(dtype);
        if (kind == Kind::kComplex || kind == Kind::kBool) {
            refuse_dtype("input", dtype, "an integer or floating dtype");
        }
        const auto in_type = [&]<class T>(T) {
            const Promoted<T> x(a, "input", dtype), y(b, "other", dtype);
            Output<T> z(out, "out");
            require_broadcast(z.shape(), x.shape(), y.shape());
            broadcast(z, x.data(), x.shape(), y.data(), y.shape(),
                      [](T left, T right) { return floored_remainder(left, right); });
            z.store();
        };
        if (kind == Kind::kFloating) return in_type(double());
        in_type(int64_t());
    });
}

diopiError_t remainder(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       const Other& other) {
    return remainder(out, input, other, result_dtype(input, other));
}
diopiError_t remainder_of_number(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                                 const diopiScalar_t* input, diopiConstTensorHandle_t other) {
    return remainder(out, input, other, result_dtype(other, input));
}

}  // namespace

#include "kernels/entries/elementwise_remainder.inc"

}  // namespace diopi::reference
