/// Positions along one dim, by an index tensor of one dim. Gradients add up rows in the order of the index.
#include <algorithm>
#include <cstring>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/item.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/row_sums.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/elementwise.hpp"
#include "kernels/operands/index_places.hpp"

namespace diopi::cpu {

namespace {

template <class E>
void take(const E* from, const int64_t* at, int64_t n, E* out) {
    for (int64_t k = 0; k < n; ++k) out[k] = from[at[k]];
}

/// out[o][k] = x[o][positions[k]], all of `inner` neighbours.
template <class E>
void take_rows(const E* x, E* out, const AroundDim& s, Positions positions) {
    const auto n = static_cast<int64_t>(positions.size());
    const auto take_some = best<take<E>>();
    parallel_for(s.outer * n, s.inner, Loop::copy, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last;) {
            const int64_t o = r / n, end = std::min(last, (o + 1) * n);
            const E* from = x + o * s.size * s.inner;
            const int64_t* at = positions.data() + (r - o * n);
            if (s.inner == 1) {
                take_some(from, at, end - r, out + r);
                r = end;
            }
            for (; r < end; ++r, ++at) {
                std::memcpy(out + r * s.inner, from + *at * s.inner, static_cast<size_t>(s.inner) * sizeof(E));
            }
        }
    });
}

diopiError_t index_select(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    View x = view(input), to;
    const View y = view(out), at = view(index);
    size_t d = 0;
    if (x.rank() == 0) return refuse(op, "input has no dimension");
    diopiError_t error = read_dim(op, dim, x.rank(), d);
    if (error == diopiSuccess) error = check_positions(op, at, true);
    if (error != diopiSuccess) return error;
    Shape shape(x.shape.begin(), x.shape.end());
    shape[d] = at.numel;
    Positions positions;
    error = check_like(op, "out", y, shape, x.dtype);
    if (error == diopiSuccess) error = read_positions(ctx, op, at, x.shape[d], Negative::refused, positions);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error == diopiSuccess) error = contiguous(ctx, x, x);
    if (error != diopiSuccess || y.numel == 0) return error;
    with_item(x.dtype, [&]<class E>() { take_rows(x.as<const E>(), to.as<E>(), AroundDim(x.shape, d), positions); });
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

diopiError_t index_select_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                   diopiConstTensorHandle_t grad, diopiSize_t sizes, int64_t dim,
                                   diopiConstTensorHandle_t index) {
    const View y = view(grad_input), g = view(grad), at = view(index);
    size_t d = 0;
    if (sizes.len == 0) return refuse(op, "input_sizes has no dimension");
    diopiError_t error = read_dim(op, dim, sizes.len, d);
    if (error == diopiSuccess) error = check_positions(op, at, true);
    if (error == diopiSuccess) error = check_shape(op, "grad_input", y, list_of(sizes));
    if (error == diopiSuccess) error = check_computable(op, "grad", g);
    if (error == diopiSuccess) error = check_computable(op, "grad_input", y);
    if (error != diopiSuccess) return error;
    Shape shape(y.shape.begin(), y.shape.end());
    shape[d] = at.numel;
    Positions positions;
    error = check_shape(op, "grad", g, shape);
    if (error == diopiSuccess) error = read_positions(ctx, op, at, y.shape[d], Negative::refused, positions);
    if (error != diopiSuccess || y.numel == 0) return error;
    const AroundDim around(y.shape, d);
    if (around.inner > 1 || around.outer == 1) return sum_rows(ctx, g, y, around.inner, {positions, around.size});
    return sum_elements(ctx, g, y, around.size, positions);
}

/// The value is a 0-dim tensor or a number.
diopiError_t index_fill(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index,
                        const Other& value) {
    diopiScalar_t number = value.number != nullptr ? *value.number : diopiScalar_t{};
    const View x = view(input), y = view(out), at = view(index);
    const View one = value.number != nullptr ? element(number) : view(value.tensor);
    size_t d = 0;
    Positions positions;
    diopiError_t error = read_dim(op, dim, x.rank(), d);
    if (error == diopiSuccess) error = check_positions(op, at, false);
    if (error == diopiSuccess) error = check_like(op, "out", y, x.shape, x.dtype);
    if (error == diopiSuccess && one.rank() > 0) error = wrong_shape(op, "value", one.shape, "(): one number");
    if (error == diopiSuccess && is_complex(one.dtype) && !is_complex(x.dtype)) {
        error = unsupported(op, "value", one.dtype, "a real dtype");
    }
    const int64_t size = x.rank() == 0 ? 1 : x.shape[d];
    if (error == diopiSuccess) error = read_positions(ctx, op, at, size, Negative::from_end, positions);
    if (error != diopiSuccess) return error;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, x.dtype);
    copy(one, converted);
    if (!same_view(x, y)) copy(x, y);
    if (y.numel == 0) return diopiSuccess;
    for (const int64_t position : positions) {
        OwnView part(y);
        if (y.rank() > 0) part.take(d, position, 1);
        copy(converted, part.view());
    }
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/index_select.inc"

}  // namespace diopi::cpu
