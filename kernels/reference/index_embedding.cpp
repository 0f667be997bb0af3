/// Rows of a table by their numbers.
#include <algorithm>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Numbers of rows, none of which lies outside a table of `count` rows.
Operand<int64_t> row_numbers(diopiConstTensorHandle_t indices, int64_t count) {
    const Dtype dtype = view_of(indices).dtype;
    if (dtype != Dtype::int64 && dtype != Dtype::int32) refuse_dtype("indices", dtype, "int32 or int64");
    Operand<int64_t> rows(indices, "indices");
    for (int64_t i = 0; i < rows.numel(); ++i) {
        if (rows[i] >= 0 && rows[i] < count) continue;
        refuse("indices holds " + std::to_string(rows[i]) + ", wanted 0 to " + std::to_string(count - 1) +
               ": there are " + std::to_string(count) + " rows");
    }
    return rows;
}

/// The shape of indices, followed by the size of a row.
Shape shape_of_rows(const Operand<int64_t>& rows, int64_t size) {
    Shape shape(rows.shape().begin(), rows.shape().end());
    shape.push_back(size);
    return shape;
}

template <class T>
void look_up(diopiTensorHandle_t out, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices) {
    const Operand<T> table(weight, "weight");
    if (table.rank() != 2) refuse("weight has shape " + to_string(table.shape()) + ", wanted 2 dimensions");
    const Operand<int64_t> rows = row_numbers(indices, table.size(0));
    const int64_t size = table.size(1);
    Output<T> y(out, "out");
    require_shape("out", y.shape(), shape_of_rows(rows, size));
    for (int64_t i = 0; i < rows.numel(); ++i) std::copy_n(table.data() + rows[i] * size, size, y.data() + i * size);
    y.store();
}

/// out[i] = weight[indices[i]]; the arguments of the gradient are not read.
diopiError_t embedding(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t weight,
                       diopiConstTensorHandle_t indices, int64_t, bool, bool) {
    return kernel([&] { in_kind(view_of(weight).dtype, [&](auto t) { look_up<decltype(t)>(out, weight, indices); }); });
}

/// out[r] = sum of grad[i] over all i with indices[i] = r, divided by their number with scale_grad_byfreq; 0 for rows
/// that indices does not name and for padding_idx.
diopiError_t embedding_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_byfreq, bool sparse) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        if (sparse) refuse("sparse is true, wanted false: out is a dense tensor");
        const Operand<int64_t> rows = row_numbers(indices, num_weights);
        const Operand<T> g(grad, "grad");
        Output<T> gw(out, "out");
        if (gw.rank() != 2) refuse("out has shape " + to_string(gw.shape()) + ", wanted (num_weights, dim)");
        const int64_t size = gw.size(1);
        require_shape("out", gw.shape(), Shape{num_weights, size});
        require_shape("grad", g.shape(), shape_of_rows(rows, size));
        std::vector<Sum<T>> sums(static_cast<size_t>(gw.numel()));
        std::vector<int64_t> times(static_cast<size_t>(num_weights), 0);
        for (int64_t i = 0; i < rows.numel(); ++i) {
            if (rows[i] == padding_idx) continue;
            ++times[static_cast<size_t>(rows[i])];
            for (int64_t k = 0; k < size; ++k) sums[static_cast<size_t>(rows[i] * size + k)] += g[i * size + k];
        }
        for (int64_t e = 0; e < gw.numel(); ++e) gw[e] = sums[static_cast<size_t>(e)].value();
        for (int64_t r = 0; scale_grad_byfreq && r < num_weights; ++r) {
            const auto count = static_cast<double>(std::max<int64_t>(times[static_cast<size_t>(r)], 1));
            for (int64_t k = 0; k < size; ++k) gw[r * size + k] /= count;
        }
        gw.store();
    });
}

}  // namespace

#include "kernels/entries/index_embedding.inc"

}  // namespace diopi::reference
