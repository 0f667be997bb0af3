/// A formula on three tensors that broadcast to out.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// The widest kind of the tensors.
[[nodiscard]] inline Kind kind_of_all(std::initializer_list<diopiConstTensorHandle_t> tensors) {
    Kind kind = Kind::kBool;
    for (diopiConstTensorHandle_t tensor : tensors) kind = std::max(kind, kind_of(view_of(tensor).dtype));
    return kind;
}

/// The dtype to which all tensors promote.
[[nodiscard]] inline Dtype dtype_of_all(std::initializer_list<diopiConstTensorHandle_t> tensors) {
    Dtype dtype = view_of(*tensors.begin()).dtype;
    for (diopiConstTensorHandle_t tensor : tensors) dtype = promote(dtype, view_of(tensor).dtype);
    return dtype;
}

/// out[i] = f(a[i], b[i], c[i]), each broadcast to out. Integers wrap in dtype `result`.
template <class A, class T, class F>
void combine(diopiTensorHandle_t out, diopiConstTensorHandle_t first, diopiConstTensorHandle_t second,
             diopiConstTensorHandle_t third, Dtype result, F f) {
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
    wrap(y, result);
    y.store();
}

}  // namespace diopi::reference
