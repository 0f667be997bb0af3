/// Values between two others.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/ternary.hpp"

namespace diopi::reference {

namespace {

double value_of(double x) { return x; }
double value_of(const Inexact& x) { return x.value; }

/// a + w (b - a), from the end that is nearer. Source: torch.lerp.
constexpr auto between = []<class T>(T a, T b, T w) {
    return std::fabs(value_of(w)) < 0.5 ? a + w * (b - a) : b - (b - a) * (1.0 - w);
};

/// A number for all elements.
template <class T>
struct Constant {
    T number;
    [[nodiscard]] ShapeView shape() const { return {}; }
    T operator[](int64_t) const { return number; }
};

diopiError_t lerp(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                  diopiConstTensorHandle_t end, const Other& weight) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        if (kind_of_all({input, end}) != Kind::kFloating) {
            refuse_dtype("input", view_of(input).dtype, "a floating dtype");
        }
        const Operand<T> a(input, "input"), b(end, "end");
        Output<T> y(out, "out");
        if (weight.tensor != nullptr) {
            combine(y, a, b, Operand<T>(weight.tensor, "weight"), between);
        } else {
            combine(y, a, b, Constant<T>{T(number_as<double>(*weight.scalar, input, end))}, between);
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/elementwise_lerp.inc"

}  // namespace diopi::reference
