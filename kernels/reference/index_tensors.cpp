/// Index tensors and masks for several dims.
#include <algorithm>
#include <span>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

Places places_of(ShapeView shape, const diopiConstTensorHandle_t* indices, int64_t count) {
    if (count < 0 || (count > 0 && indices == nullptr)) refuse("indices is null, wanted a list");
    return places_by_tensors(shape, {indices, static_cast<size_t>(count)});
}

/// out = input[indices[0], indices[1], ...]
diopiError_t index(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t* indices, int64_t nums) {
    return kernel([&] {
        const Places places = places_of(shape_of(input), indices, nums);
        const diopiTensorHandle_t made = make_output(ctx, places.shape, view_of(input).dtype);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(made, input, places, places.shape); });
        *out = made;
    });
}

/// grad_input = 0, then grad_input[indices] += grad_output. zeros_like_input is not used.
diopiError_t index_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                            diopiTensorHandle_t zeros, diopiConstTensorHandle_t* indices, int64_t nums,
                            diopiConstTensorHandle_t grad_output) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_shape("grad_input", shape_of(grad_input), shape_of(zeros));
        add_up<T>(grad_input, grad_output, places_of(shape_of(zeros), indices, nums));
    });
}

/// out = input, then out[indices] = values, or += values, in row-major order: of several values for an element the last
/// one stays.
template <class T>
void put_values(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t values,
                const Places& places, bool accumulate) {
    const Operand<T> x(values, "values");
    const Shape strides = broadcast_strides("values", x.shape(), places.shape),
                dense = contiguous_strides(places.shape);
    const Rows<2> rows(places.shape, {ShapeView(dense), ShapeView(strides)});
    std::vector<int64_t> from(places.at.size());
    rows.for_each([&](const Rows<2>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            from[static_cast<size_t>(at[0] + i * rows.step()[0])] = at[1] + i * rows.step()[1];
        }
    });
    const auto value = [&](int64_t k) { return x[from[static_cast<size_t>(k)]]; };
    if (!accumulate) return change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = value(k); });
    if constexpr (std::is_same_v<T, double>) {
        std::vector<Sum<double>> sums(static_cast<size_t>(numel(shape_of(input))));
        const Operand<T> start(input, "input");
        for (int64_t e = 0; e < start.numel(); ++e) sums[static_cast<size_t>(e)] += start[e];
        for (size_t k = 0; k < places.at.size(); ++k) {
            sums[static_cast<size_t>(places.at[k])] += value(static_cast<int64_t>(k));
        }
        change_copy<T>(out, input, places, [&](T& y, int64_t k) {
            y = sums[static_cast<size_t>(places.at[static_cast<size_t>(k)])].value();
        });
    } else {
        change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = sum_of(y, value(k)); });
    }
}

diopiError_t index_put(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiConstTensorHandle_t values, diopiConstTensorHandle_t* indices, int64_t count,
                       bool accumulate) {
    return kernel([&] {
        require_same_dtype("values", values, input);
        const Places places = places_of(shape_of(input), indices, count);
        in_kind(view_of(input).dtype, [&](auto t) { put_values<decltype(t)>(out, input, values, places, accumulate); });
    });
}

}  // namespace

#include "kernels/entries/index_tensors.inc"

}  // namespace diopi::reference
