/// Copies into another order.
#include <algorithm>
#include <span>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// torch.cat skips 1-dim tensors without elements, whatever the shapes of the others.
bool is_skipped(ShapeView shape) { return shape.size() == 1 && shape[0] == 0; }

/// out[.., start_k + i, ..] = tensors[k][.., i, ..] with start_k the sizes along dim of those before.
template <class T>
void cat_into(diopiTensorHandle_t out, std::span<diopiConstTensorHandle_t> tensors, int64_t dim_argument) {
    Output<T> y(out, "out");
    const auto dim = static_cast<size_t>(require_dim(dim_argument, y.rank()));
    const ShapeView wide = y.shape();
    const bool has_dim = dim < wide.size();
    const int64_t outer = has_dim ? numel(wide.first(dim)) : 1;
    const int64_t inner = has_dim ? numel(wide.subspan(dim + 1)) : 1;
    const int64_t pitch = has_dim ? wide[dim] * inner : 1;
    int64_t start = 0;
    for (size_t k = 0; k < tensors.size(); ++k) {
        const std::string argument = "tensors[" + std::to_string(k) + "]";
        const Operand<T> x(tensors[k], argument);
        if (is_skipped(x.shape())) continue;
        Shape wanted(wide.begin(), wide.end());
        if (has_dim && x.shape().size() == wide.size()) wanted[dim] = x.shape()[dim];
        require_shape(argument, x.shape(), wanted);
        const int64_t chunk = has_dim ? wanted[dim] * inner : 1;
        if (start + chunk > pitch) refuse("out has shape " + to_string(wide) + ", too small for the tensors along dim");
        for (int64_t o = 0; o < outer; ++o) std::copy_n(x.data() + o * chunk, chunk, y.data() + o * pitch + start);
        start += chunk;
    }
    if (start != pitch) refuse("out has shape " + to_string(wide) + ", larger than the tensors along dim");
    y.store();
}

/// out[.., i_d, ..] = input[.., size_d - 1 - i_d, ..] for each d in dims: a walk with negative strides.
template <class T>
void flip_into(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    const Shape dense = contiguous_strides(x.shape());
    Shape strides = dense;
    std::vector<bool> seen(std::max<size_t>(x.shape().size(), 1), false);
    int64_t first = 0;
    for (const int64_t argument : dims) {
        const auto d = static_cast<size_t>(require_dim(argument, x.rank()));
        if (seen[d]) refuse("dims names dimension " + std::to_string(d) + " twice");
        seen[d] = true;
        if (x.rank() == 0) continue;
        first += (x.shape()[d] - 1) * dense[d];
        strides[d] = -dense[d];
    }
    const Rows<2> rows(x.shape(), {ShapeView(dense), ShapeView(strides)});
    const int64_t n = rows.length();
    const int64_t step = rows.step()[1];
    rows.for_each([&](const Rows<2>::Offsets& at) {
        T* __restrict to = y.data() + at[0];
        const T* __restrict from = x.data() + first + at[1];
        if (step == 1) {
            std::copy_n(from, n, to);
        } else {
            for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
        }
    });
    y.store();
}

diopiError_t cat(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                 int64_t num_inputs, int64_t dim) {
    return kernel([&] {
        if (num_inputs < 1) refuse("tensors holds none, wanted one at least");
        const std::span list(tensors, static_cast<size_t>(num_inputs));
        in_kind(view_of(out).dtype, [&](auto t) { cat_into<decltype(t)>(out, list, dim); });
    });
}

diopiError_t flip(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                  diopiSize_t dims) {
    return kernel(
        [&] { in_kind(view_of(input).dtype, [&](auto t) { flip_into<decltype(t)>(out, input, list_of(dims)); }); });
}

}  // namespace

#include "kernels/entries/shape.inc"

}  // namespace diopi::reference
