/// Copies into another shape or dtype, and constants.
#include <algorithm>

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

diopiError_t constant(diopiTensorHandle_t out, ShapeView size, double value) {
    return kernel([&] {
        Output<double> y(out, "out");
        require_shape("out", y.shape(), size);
        std::fill_n(y.data(), y.numel(), value);
        y.store();
    });
}

}  // namespace

/// dest = src, broadcast and converted to dest's dtype.
diopiError_t diopiCopyInp(diopiContextHandle_t, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    return kernel([&] { spread_any(dest, src); });
}

/// out = input in out's dtype.
diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        require_shape("out", view_of(out).shape, view_of(input).shape);
        spread_any(out, input);
    });
}

/// out = input, broadcast to out's shape.
diopiError_t diopiExpand(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] { spread_any(out, input); });
}

diopiError_t diopiZeros(diopiContextHandle_t, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(out, list_of(size), 0.0);
}

diopiError_t diopiOnes(diopiContextHandle_t, diopiTensorHandle_t out, diopiSize_t size) {
    return constant(out, list_of(size), 1.0);
}

diopiError_t diopiZeroInp(diopiContextHandle_t, diopiTensorHandle_t self) {
    return kernel([&] {
        Output<double> y(self, "self");
        std::fill_n(y.data(), y.numel(), 0.0);
        y.store();
    });
}

}  // namespace diopi::reference
