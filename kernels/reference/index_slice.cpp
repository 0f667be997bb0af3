/// Positions along one dim, by numbers.
#include <algorithm>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

size_t require_own_dim(int64_t dim, ShapeView shape) {
    if (shape.empty()) refuse("there is no dimension to take positions of");
    return static_cast<size_t>(require_dim(dim, static_cast<int64_t>(shape.size())));
}

/// The elements at one position of dim; the dim itself is gone.
Places position_of(ShapeView shape, int64_t dim, int64_t index) {
    const size_t d = require_own_dim(dim, shape);
    Places places = places_along(shape, d, {require_place(index, shape[d])});
    places.shape.erase(places.shape.begin() + static_cast<std::ptrdiff_t>(d));
    return places;
}

/// The elements start, start + step, ... below end. Source: torch.Tensor indexing: negative numbers count from the end,
/// and both are cut to the dim.
Places slice_of(ShapeView shape, int64_t dim, int64_t start, int64_t end, int64_t step) {
    const size_t d = require_own_dim(dim, shape);
    if (step < 1) refuse("step is " + std::to_string(step) + ", wanted 1 or more");
    const int64_t first = std::clamp(start < 0 ? start + shape[d] : start, int64_t{0}, shape[d]);
    const int64_t last = std::clamp(end < 0 ? end + shape[d] : end, first, shape[d]);
    Positions positions;
    for (int64_t at = first; at < last; at += std::min(step, shape[d])) positions.push_back(at);
    return places_along(shape, d, std::move(positions));
}

/// out = input at the places
void take_places(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Places& places) {
    in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(out, input, places, places.shape); });
}

/// grad_input = grad_output at the places, and 0 elsewhere
void spread_places(diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output, const Places& places) {
    in_kind(view_of(grad_output).dtype, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        Output<T> y(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_output", g.shape(), places.shape);
        for (size_t k = 0; k < places.at.size(); ++k) y[places.at[k]] = g[static_cast<int64_t>(k)];
        y.store();
    });
}

/// out = input, with src at the places
void replace_places(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t src,
                    const Places& places) {
    require_same_dtype("src", src, input);
    in_kind(view_of(input).dtype, [&]<class T>(T) {
        const Operand<T> x(src, "src");
        require_shape("src", x.shape(), places.shape);
        change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = x[k]; });
    });
}

diopiError_t take_position(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim, int64_t index) {
    return kernel([&] { take_places(out, input, position_of(shape_of(input), dim, index)); });
}

diopiError_t spread_position(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, diopiSize_t sizes, int64_t dim, int64_t index) {
    return kernel([&] {
        require_shape("grad_input", shape_of(grad_input), list_of(sizes));
        spread_places(grad_input, grad_output, position_of(list_of(sizes), dim, index));
    });
}

diopiError_t replace_position(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim,
                              int64_t index) {
    return kernel([&] { replace_places(out, input, src, position_of(shape_of(input), dim, index)); });
}

diopiError_t take_slice(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        int64_t dim, int64_t start, int64_t end, int64_t step) {
    return kernel([&] { take_places(out, input, slice_of(shape_of(input), dim, start, end, step)); });
}

diopiError_t spread_slice(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiSize_t sizes, int64_t dim, int64_t start,
                          int64_t end, int64_t step) {
    return kernel([&] {
        require_shape("grad_input", shape_of(grad_input), list_of(sizes));
        spread_places(grad_input, grad_output, slice_of(list_of(sizes), dim, start, end, step));
    });
}

diopiError_t replace_slice(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t src, int64_t dim, int64_t start,
                           int64_t end, int64_t step) {
    return kernel([&] { replace_places(out, input, src, slice_of(shape_of(input), dim, start, end, step)); });
}

}  // namespace

#include "kernels/entries/index_slice.inc"

}  // namespace diopi::reference
