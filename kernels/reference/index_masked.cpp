/// One value where a mask is true.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out = mask ? value : input, both broadcast to out.
template <class T>
void fill_as(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, T value) {
    const Operand<T> x(input, "input");
    const Operand<int64_t> is(mask, "mask");
    Output<T> y(out, "out");
    const Shape dense = contiguous_strides(y.shape());
    const Shape to_x = broadcast_strides("input", x.shape(), y.shape());
    const Shape to_mask = broadcast_strides("mask", is.shape(), y.shape());
    const Rows<3> rows(y.shape(), {ShapeView(dense), ShapeView(to_x), ShapeView(to_mask)});
    const auto step = rows.step();
    rows.for_each([&](const Rows<3>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            y[at[0] + i] = is[at[2] + i * step[2]] != 0 ? value : x[at[1] + i * step[1]];
        }
    });
    y.store();
}

/// The value takes the dtype of input: a fraction is dropped for integers, bool is != 0.
void fill_in_dtype(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                   const diopiScalar_t& value) {
    if (view_of(mask).dtype != Dtype::boolean) refuse_dtype("mask", view_of(mask).dtype, "bool");
    switch (kind_of(view_of(input).dtype)) {
        case Kind::kComplex:
            return fill_as(out, input, mask, scalar_as<Complex>(value));
        case Kind::kFloating:
            return fill_as(out, input, mask, scalar_as<double>(value));
        case Kind::kInteger:
            return fill_as(out, input, mask, scalar_as<int64_t>(value));
        case Kind::kBool:
            return fill_as(out, input, mask, int64_t{scalar_as<double>(value) != 0.0});
    }
}

/// The number that a 0-dim tensor holds.
diopiScalar_t number_of(diopiConstTensorHandle_t value) {
    const View view = view_of(value);
    if (!view.shape.empty()) refuse("value has shape " + to_string(view.shape) + ", wanted a 0-dim tensor");
    diopiScalar_t number{};
    if (kind_of(view.dtype) == Kind::kFloating) {
        number.stype = diopi_dtype_float64;
        number.fval = Operand<double>(value, "value")[0];
    } else {
        number.stype = diopi_dtype_int64;
        number.ival = Operand<int64_t>(value, "value")[0];
    }
    return number;
}

diopiError_t fill_masked(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                         diopiConstTensorHandle_t value) {
    return kernel([&] { fill_in_dtype(out, input, mask, number_of(value)); });
}
diopiError_t fill_masked(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, const diopiScalar_t* value) {
    return kernel([&] { fill_in_dtype(out, input, mask, *value); });
}

}  // namespace

#include "kernels/entries/index_masked.inc"

}  // namespace diopi::reference
