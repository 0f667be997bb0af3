/// Elements under a mask, in row-major order, and the places that are not 0.
#include <algorithm>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

/// out = input, with the elements of source, one after the other, where the mask is true
diopiError_t masked_scatter(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                            diopiConstTensorHandle_t source) {
    return kernel([&] {
        require_same_dtype("source", source, input);
        const Places places = places_under(mask, shape_of(input), shape_of(input));
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> x(source, "source");
            if (x.numel() < places.shape[0]) {
                refuse("source has " + std::to_string(x.numel()) + " elements, wanted " +
                       std::to_string(places.shape[0]));
            }
            change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = x[k]; });
        });
    });
}

/// out = the elements of input where the mask is true, both broadcast
diopiError_t masked_select(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
    return kernel([&] {
        const Places places = places_under(mask, shape_of(input), common_shape(shape_of(input), shape_of(mask)));
        const diopiTensorHandle_t made = make_output(ctx, places.shape, view_of(input).dtype);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(made, input, places, places.shape); });
        *out = made;
    });
}

/// grad_input = grad_output where the mask is true, summed where input was broadcast, and 0 elsewhere
diopiError_t masked_select_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t mask) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_shape("grad_input", shape_of(grad_input), shape_of(input));
        const Shape wide = common_shape(shape_of(input), shape_of(mask));
        add_up<T>(grad_input, grad_output, places_under(mask, shape_of(input), wide));
    });
}

/// out[k] = the coordinates of the k-th element that is not 0; NaN is not.
diopiError_t nonzero(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out,
                     diopiConstTensorHandle_t input) {
    return kernel([&] {
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> x(input, "input");
            std::vector<int64_t> found;
            for (int64_t i = 0; i < x.numel(); ++i) {
                if (x[i] != T(0)) found.push_back(i);
            }
            const Shape strides = contiguous_strides(x.shape());
            const Shape shape = {static_cast<int64_t>(found.size()), x.rank()};
            const diopiTensorHandle_t made = make_output(ctx, shape, Dtype::int64);
            Output<int64_t> y(made, "out");
            for (int64_t k = 0; k < y.numel(); ++k) {
                const auto d = static_cast<size_t>(k % x.rank());
                y[k] = found[static_cast<size_t>(k / x.rank())] / strides[d] % x.shape()[d];
            }
            y.store();
            *out = made;
        });
    });
}

}  // namespace

#include "kernels/entries/index_true.inc"

}  // namespace diopi::reference
