/// The place in one tensor for each element of another: what slices, index tensors, padding and repetitions have in
/// common. Also tensors that a function makes itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/reference/inexact.hpp"
#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// Stands for a place outside of the tensor.
inline constexpr int64_t kNowhere = -1;

struct Places {
    Shape shape;              ///< of the tensor that has an element for each place
    std::vector<int64_t> at;  ///< row-major elements of the other tensor
};

/// Positions in one dim.
using Positions = std::vector<int64_t>;

/// 0, 1, ..., size - 1
[[nodiscard]] Positions all_of_dim(int64_t size);
/// The element (p[0][i], p[1][j], ...) of a tensor of that shape for each (i, j, ...).
[[nodiscard]] Places places_by_dim(ShapeView shape, std::span<const Positions> positions);
/// The same, with all positions of every dim but one.
[[nodiscard]] Places places_along(ShapeView shape, size_t dim, Positions positions);
/// The same for an index for each element: (index[i, j, ...], j, ...) for dim 0, and so on. Refuses places that do not
/// exist. A 0-dim tensor is like one of size 1.
[[nodiscard]] Places places_by_index(ShapeView shape, int64_t dim, diopiConstTensorHandle_t index);
/// shape[indices[0], indices[1], ...]: null stands for a whole dim, a mask for the places where it is true.
[[nodiscard]] Places places_by_tensors(ShapeView shape, std::span<const diopiConstTensorHandle_t> indices);
/// Where the mask is true, in the row-major order of `wide`, to which the mask and a tensor of `shape` broadcast.
[[nodiscard]] Places places_under(diopiConstTensorHandle_t mask, ShapeView shape, ShapeView wide);

/// The elements of an index as int64, of a dtype that the function takes.
[[nodiscard]] Operand<int64_t> index_numbers(diopiConstTensorHandle_t index, bool takes_int32);
/// `at` counted from the front; refuses a place that a dim of that size does not have.
[[nodiscard]] int64_t require_place(int64_t at, int64_t size);
[[nodiscard]] ShapeView shape_of(diopiConstTensorHandle_t tensor);
/// The common shape of two tensors; refuses those that do not broadcast.
[[nodiscard]] Shape common_shape(ShapeView a, ShapeView b);

/// A tensor that the context owns until the host takes it.
[[nodiscard]] diopiTensorHandle_t make_output(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype,
                                              ShapeView strides = {});

/// Refuses another dtype than that of input.
void require_same_dtype(std::string_view argument, diopiConstTensorHandle_t tensor, diopiConstTensorHandle_t input);

/// Sums of integers wrap.
template <class T>
[[nodiscard]] T sum_of(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>)
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
        return a + b;
}

/// out[k] = input[at[k]], or `outside`.
template <class T>
void take(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Places& places, ShapeView shape,
          T outside = T(0)) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), shape);
    for (size_t k = 0; k < places.at.size(); ++k) {
        y[static_cast<int64_t>(k)] = places.at[k] == kNowhere ? outside : x[places.at[k]];
    }
    y.store();
}

/// out = input, then change(out[at[k]], k) for each k.
template <class T, class Change>
void change_copy(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Places& places, Change&& change) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    if (y.data() != x.data()) std::copy_n(x.data(), x.numel(), y.data());
    for (size_t k = 0; k < places.at.size(); ++k) change(y[places.at[k]], static_cast<int64_t>(k));
    y.store();
}

/// out[e] = the sum of grad[k] over all k with at[k] = e.
template <class T>
void add_up(diopiTensorHandle_t out, diopiConstTensorHandle_t grad, const Places& places) {
    const Operand<T> g(grad, "grad_output");
    Output<T> y(out, "grad_input");
    require_shape("grad_output", g.shape(), places.shape);
    std::vector<Sum<T>> sums(static_cast<size_t>(y.numel()));
    for (size_t k = 0; k < places.at.size(); ++k) {
        sums[static_cast<size_t>(places.at[k])] += g[static_cast<int64_t>(k)];
    }
    for (int64_t e = 0; e < y.numel(); ++e) y[e] = sums[static_cast<size_t>(e)].value();
    y.store();
}

}  // namespace diopi::reference
