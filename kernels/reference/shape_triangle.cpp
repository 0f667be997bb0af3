/// Upper and lower triangles of matrices.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out = input where keeps(column - row), else 0, for every matrix of the last two dimensions.
template <class T, class Keeps>
void mask_matrices(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Keeps& keeps) {
    const Operand<T> x(input, "input");
    if (x.rank() < 2) refuse("input has shape " + to_string(x.shape()) + ", wanted 2 dimensions or more");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    const int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
    for (int64_t at = 0; at < x.numel(); ++at) {
        const int64_t column = at % columns, row = at / columns % rows;
        y[at] = keeps(column - row) ? x[at] : T(0);
    }
    y.store();
}

/// Keeps the upper triangle, from that diagonal to the right, or the lower one, up to that diagonal.
template <bool kUpper>
diopiError_t triangle(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      int64_t diagonal) {
    return kernel([&] {
        const auto keeps = [=](int64_t above) { return kUpper ? above >= diagonal : above <= diagonal; };
        in_kind(view_of(input).dtype, [&](auto t) { mask_matrices<decltype(t)>(out, input, keeps); });
    });
}

}  // namespace

#include "kernels/entries/shape_triangle.inc"

}  // namespace diopi::reference
