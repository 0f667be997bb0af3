/// A formula on three tensors that broadcast to out.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "kernels/reference/binary.hpp"

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

/// The dtype to which an operation's operands, the first of which is a tensor, promote in their order; absent ones do
/// not count. Source: torch.result_type.
[[nodiscard]] inline Dtype result_dtype(std::initializer_list<Other> operands) {
    View all = view_of(operands.begin()->tensor);
    for (const Other& operand : operands) {
        if (operand.tensor != nullptr) {
            const View next = view_of(operand.tensor);
            all.dtype = promoted_dtype(all, next);
            if (all.shape.empty()) all.shape = next.shape;
        } else if (operand.scalar != nullptr) {
            all.dtype = promote_with_number(all.dtype, operand.dtype());
        }
    }
    return all.dtype;
}

/// y[i] = f(a[i], b[i], c[i]), each broadcast to y.
template <class T, class A, class B, class C, class F>
void combine(Output<T>& y, const A& a, const B& b, const C& c, F f) {
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
}

/// The same of three tensors. Integers wrap in dtype `result`.
template <class A, class T, class F>
void combine(diopiTensorHandle_t out, diopiConstTensorHandle_t first, diopiConstTensorHandle_t second,
             diopiConstTensorHandle_t third, Dtype result, F f) {
    const Operand<A> a(first, "the first operand");
    const Operand<T> b(second, "the second operand");
    const Operand<T> c(third, "the third operand");
    Output<T> y(out, "out");
    combine(y, a, b, c, f);
    wrap(y, result);
    y.store();
}

}  // namespace diopi::reference
