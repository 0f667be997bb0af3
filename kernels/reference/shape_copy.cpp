/// Copies into another shape or dtype, and constants.
#include <algorithm>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out[i] = input[i], input broadcast to out. T takes in the dtypes of both, so that only the store converts.
template <class T>
void spread(diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    const Shape dense = contiguous_strides(y.shape());
    const Shape strides = broadcast_strides("input", x.shape(), y.shape());
    const Rows<2> rows(y.shape(), {ShapeView(dense), ShapeView(strides)});
    rows.for_each([&](const Rows<2>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) y[at[0] + i] = x[at[1] + i * rows.step()[1]];
    });
    y.store();
}

/// Source: torch.Tensor.copy_. Floating to integer drops the fraction, integers wrap, not 0 is true, and a complex
/// number loses its imaginary part in a real dtype.
void spread_any(diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    switch (kind_of(view_of(input).dtype)) {
        case Kind::kComplex:
            return spread<Complex>(out, input);
        case Kind::kFloating:
            return spread<double>(out, input);
        case Kind::kInteger:
        case Kind::kBool:
            return spread<int64_t>(out, input);
    }
}

/// dest = src, broadcast and converted to dest's dtype.
diopiError_t copy_from(diopiContextHandle_t, std::string_view, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    return kernel([&] { spread_any(dest, src); });
}

/// out = input in out's dtype.
diopiError_t cast(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        require_shape("out", view_of(out).shape, view_of(input).shape);
        spread_any(out, input);
    });
}

/// out = input, broadcast to out's shape.
diopiError_t expand(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] { spread_any(out, input); });
}

template <class T>
void fill(Output<T> y, T value) {
    std::fill_n(y.data(), y.numel(), value);
    y.store();
}

/// The value is converted to the dtype first, as for a 0-dim tensor: a fraction is dropped for integers, bool is != 0.
diopiError_t fill_with(diopiContextHandle_t, std::string_view, diopiTensorHandle_t input, const diopiScalar_t* value) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return fill(Output<Complex>(input, "input"), scalar_as<Complex>(*value));
            case Kind::kFloating:
                return fill(Output<double>(input, "input"), scalar_as<double>(*value));
            case Kind::kInteger:
                return fill(Output<int64_t>(input, "input"), scalar_as<int64_t>(*value));
            case Kind::kBool:
                return fill(Output<int64_t>(input, "input"), int64_t{scalar_as<double>(*value) != 0.0});
        }
    });
}

template <int kValue>
diopiError_t constant(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiSize_t size) {
    return kernel([&] {
        Output<double> y(out, "out");
        require_shape("out", y.shape(), list_of(size));
        fill(std::move(y), double{kValue});
    });
}

diopiError_t set_zero(diopiContextHandle_t, std::string_view, diopiTensorHandle_t self) {
    return kernel([&] { fill(Output<double>(self, "self"), 0.0); });
}

}  // namespace

#include "kernels/entries/shape_copy.inc"

}  // namespace diopi::reference
