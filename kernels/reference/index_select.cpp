/// Positions along one dim, by an index tensor of one dim.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

/// The slices that the index names; negative numbers only where the function counts them from the end.
Places places_of(ShapeView shape, int64_t dim, const Operand<int64_t>& index, bool takes_negative) {
    if (index.rank() > 1) refuse("index has shape " + to_string(index.shape()) + ", wanted 1 dimension");
    const auto d = static_cast<size_t>(require_dim(dim, static_cast<int64_t>(shape.size())));
    const Shape own = shape.empty() ? Shape{1} : Shape(shape.begin(), shape.end());
    Positions positions;
    for (int64_t i = 0; i < index.numel(); ++i) {
        if (index[i] < 0 && !takes_negative) refuse("index holds " + std::to_string(index[i]) + ", wanted 0 or more");
        positions.push_back(require_place(index[i], own[d]));
    }
    return places_along(own, d, std::move(positions));
}

/// out[.., i, ..] = input[.., index[i], ..]
diopiError_t index_select(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return kernel([&] {
        if (shape_of(input).empty()) refuse("input has no dimension");
        const Places places = places_of(shape_of(input), dim, index_numbers(index, true), false);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(out, input, places, places.shape); });
    });
}

/// grad_input[.., r, ..] = the sum of grad[.., i, ..] over all i with index[i] = r
diopiError_t index_select_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                   diopiConstTensorHandle_t grad, diopiSize_t sizes, int64_t dim,
                                   diopiConstTensorHandle_t index) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        if (sizes.len == 0) refuse("input_sizes has no dimension");
        require_shape("grad_input", shape_of(grad_input), list_of(sizes));
        add_up<T>(grad_input, grad, places_of(list_of(sizes), dim, index_numbers(index, true), false));
    });
}

/// input[.., index[i], ..] = value for all i
template <class T>
void fill_places(diopiTensorHandle_t out, diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index,
                 T value) {
    const Places places = places_of(shape_of(input), dim, index_numbers(index, false), true);
    change_copy<T>(out, input, places, [&](T& y, int64_t) { y = value; });
}

diopiError_t index_fill(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        int64_t dim, diopiConstTensorHandle_t index, const diopiScalar_t* value) {
    return kernel([&] {
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            T number = scalar_as<T>(*value);
            // A truth value is not cut: 0.5 is true.
            if (view_of(input).dtype == Dtype::boolean) number = T(scalar_as<double>(*value) != 0);
            fill_places<T>(out, input, dim, index, number);
        });
    });
}

diopiError_t index_fill(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        int64_t dim, diopiConstTensorHandle_t index, diopiConstTensorHandle_t value) {
    return kernel([&] {
        if (!shape_of(value).empty()) refuse("value has shape " + to_string(shape_of(value)) + ", wanted ()");
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> number(value, "value");
            const bool is_truth =
                view_of(input).dtype == Dtype::boolean && kind_of(view_of(value).dtype) == Kind::kFloating;
            fill_places<T>(out, input, dim, index, is_truth ? T(Operand<double>(value, "value")[0] != 0) : number[0]);
        });
    });
}

}  // namespace

#include "kernels/entries/index_select.inc"

}  // namespace diopi::reference
