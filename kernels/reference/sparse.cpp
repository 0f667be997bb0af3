/// Products of sparse matrices.
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/matrices.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The elements of a matrix that is dense, or in compressed sparse row form; these elements add up where a place occurs
/// twice.
std::vector<double> elements_of(diopiConstTensorHandle_t handle, std::string_view argument) {
    bool is_sparse = false;
    diopiIsTensorSparse(handle, &is_sparse);
    const View matrix = view_of(handle);
    if (matrix.shape.size() != 2)
        refuse(std::string(argument) + " has shape " + to_string(matrix.shape) + ", wanted two dimensions");
    require_real(handle, argument);
    if (!is_sparse) {
        const Operand<double> dense(handle, argument);
        return {dense.data(), dense.data() + dense.numel()};
    }
    diopiConstTensorHandle_t crow = nullptr, col = nullptr, values = nullptr;
    diopiGetTensorCrowIndices(handle, &crow);
    diopiGetTensorColIndices(handle, &col);
    diopiGetTensorValues(handle, &values);
    const Operand<int64_t> starts(crow, "crow_indices"), columns(col, "col_indices");
    const Operand<double> x(values, "values");
    const int64_t m = matrix.shape[0], n = matrix.shape[1];
    require_shape("crow_indices", starts.shape(), Shape{m + 1});
    require_shape("col_indices", columns.shape(), x.shape());
    std::vector<double> dense(static_cast<size_t>(m * n), 0.0);
    for (int64_t i = 0; i < m; ++i) {
        if (starts[i] < 0 || starts[i + 1] > x.numel())
            refuse("crow_indices leave the " + std::to_string(x.numel()) + " values");
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            if (columns[k] < 0 || columns[k] >= n)
                refuse("col_indices has " + std::to_string(columns[k]) + ", wanted 0 to " + std::to_string(n - 1));
            dense[static_cast<size_t>(i * n + columns[k])] += x[k];
        }
    }
    return dense;
}

/// out = input mat2. A zero that is not stored has no product: 0 times infinity is left out.
diopiError_t sparse_product(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat2) {
    return kernel([&] {
        const std::vector<double> a = elements_of(input, "input"), b = elements_of(mat2, "mat2");
        const ShapeView left = view_of(input).shape, right = view_of(mat2).shape;
        const int64_t m = left[0], k = left[1], n = right[1];
        require_shape("mat2", right, Shape{k, n});
        Output<double> y(out, "out", Output<double>::Start::kZero);
        require_shape("out", y.shape(), Shape{m, n});
        bool is_sparse = false;
        diopiIsTensorSparse(input, &is_sparse);
        for (int64_t i = 0; i < m; ++i) {
            for (int64_t c = 0; c < k; ++c) {
                const double x = a[static_cast<size_t>(i * k + c)];
                if (is_sparse && x == 0) continue;
                for (int64_t j = 0; j < n; ++j) y[i * n + j] += x * b[static_cast<size_t>(c * n + j)];
            }
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/sparse.inc"

}  // namespace diopi::reference
