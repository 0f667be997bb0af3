/// Formulas on three tensors that broadcast to out, and the sign.
#include <algorithm>
#include <initializer_list>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The widest kind among tensors.
Kind kind_of_all(std::initializer_list<diopiConstTensorHandle_t> tensors) {
    Kind kind = Kind::kBool;
    for (diopiConstTensorHandle_t tensor : tensors) kind = std::max(kind, kind_of(view_of(tensor).dtype));
    return kind;
}

/// out[i] = f(a[i], b[i], c[i]), each broadcast to out.
template <class A, class T, class F>
void combine(diopiTensorHandle_t out, diopiConstTensorHandle_t first, diopiConstTensorHandle_t second,
             diopiConstTensorHandle_t third, F f) {
    const Operand<A> a(first, "the first operand");
    const Operand<T> b(second, "the second operand");
    const Operand<T> c(third, "the third operand");
    Output<T> y(out, "out");
    const Shape dense = contiguous_strides(y.shape());
    const Shape to_a = broadcast_strides("the first operand", a.shape(), y.shape());
    const Shape to_b = broadcast_strides("the second operand", b.shape(), y.shape());
    const Shape to_c = broadcast_strides("the third operand", c.shape(), y.shape());
    const Rows<4> rows(y.shape(), {ShapeView(dense), ShapeView(to_a), ShapeView(to_b), ShapeView(to_c)});
    const auto step = rows.step();
    rows.for_each([&](const Rows<4>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            y[at[0] + i] = f(a[at[1] + i * step[1]], b[at[2] + i * step[2]], c[at[3] + i * step[3]]);
        }
    });
    y.store();
}

/// A number acts in float32 where no tensor is float64 (PyTorch's opmath type).
double factor_of(const diopiScalar_t& value, std::initializer_list<diopiConstTensorHandle_t> tensors) {
    const double factor = scalar_as<double>(value);
    for (diopiConstTensorHandle_t tensor : tensors) {
        if (view_of(tensor).dtype == Dtype::float64) return factor;
    }
    return static_cast<double>(static_cast<float>(factor));
}

/// out = input + value * tensor1 * tensor2; integers wrap, and take the whole part of value.
diopiError_t add_product_of(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                            diopiConstTensorHandle_t tensor2, const diopiScalar_t& value) {
    return kernel([&] {
        const Kind kind = kind_of_all({input, tensor1, tensor2});
        if (kind == Kind::kInteger) {
            const auto factor = static_cast<uint64_t>(scalar_as<int64_t>(value));
            return combine<int64_t, int64_t>(out, input, tensor1, tensor2, [=](int64_t a, int64_t b, int64_t c) {
                return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                            factor * static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
            });
        }
        if (kind != Kind::kFloating) refuse_dtype("input", view_of(input).dtype, "an integer or floating dtype");
        const double factor = factor_of(value, {input, tensor1, tensor2});
        combine<double, double>(out, input, tensor1, tensor2,
                                [=](double a, double b, double c) { return a + factor * b * c; });
    });
}

/// out = input + value * tensor1 / tensor2.
diopiError_t add_quotient_of(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t& value) {
    return kernel([&] {
        if (kind_of_all({input, tensor1, tensor2}) != Kind::kFloating) {
            refuse_dtype("input", view_of(input).dtype, "a floating dtype");
        }
        const double factor = factor_of(value, {input, tensor1, tensor2});
        combine<double, double>(out, input, tensor1, tensor2,
                                [=](double a, double b, double c) { return a + factor * b / c; });
    });
}

template <class T, class F>
void map_kind(diopiTensorHandle_t out, diopiConstTensorHandle_t input, F f) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    for (int64_t i = 0; i < x.numel(); ++i) y[i] = f(x[i]);
    y.store();
}

/// out = -input; integers wrap.
diopiError_t negate(diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return map_kind<Complex>(out, input, [](Complex x) { return -x; });
            case Kind::kFloating:
                return map_kind<double>(out, input, [](double x) { return -x; });
            case Kind::kInteger:
                return map_kind<int64_t>(out, input,
                                         [](int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); });
            case Kind::kBool:
                refuse_dtype("input", Dtype::boolean, "a number: bool has no sign");
        }
    });
}

}  // namespace

diopiError_t diopiAddcmul(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_product_of(out, input, tensor1, tensor2, *value);
}
diopiError_t diopiAddcmulInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_product_of(input, input, tensor1, tensor2, *value);
}
diopiError_t diopiAddcdiv(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_quotient_of(out, input, tensor1, tensor2, *value);
}
diopiError_t diopiAddcdivInp(diopiContextHandle_t, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_quotient_of(input, input, tensor1, tensor2, *value);
}

diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return negate(out, input);
}
diopiError_t diopiNegInp(diopiContextHandle_t, diopiTensorHandle_t input) { return negate(input, input); }

/// out = condition ? input : other, all three broadcast. The condition is bool, or a number that is not 0.
diopiError_t diopiWhere(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t condition,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return kernel([&] {
        const auto choose = [](int64_t is, auto a, auto b) { return is != 0 ? a : b; };
        switch (kind_of_all({input, other})) {
            case Kind::kComplex:
                return combine<int64_t, Complex>(out, condition, input, other, choose);
            case Kind::kFloating:
                return combine<int64_t, double>(out, condition, input, other, choose);
            case Kind::kInteger:
            case Kind::kBool:
                return combine<int64_t, int64_t>(out, condition, input, other, choose);
        }
    });
}

}  // namespace diopi::reference
