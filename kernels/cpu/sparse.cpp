/// Products of sparse matrices in compressed sparse row form. Half types compute in float32.
#include <algorithm>
#include <string>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"

// A host that lacks these functions has no sparse tensors, and all other operators work there.
#pragma weak diopiIsTensorSparse
#pragma weak diopiGetTensorCrowIndices
#pragma weak diopiGetTensorColIndices
#pragma weak diopiGetTensorValues

namespace diopi::cpu {

namespace {

/// A matrix, and where it is sparse the views of its parts.
struct Matrix {
    View whole, starts, columns, values;
    bool is_sparse = false;

    [[nodiscard]] int64_t rows() const { return whole.shape[0]; }
    [[nodiscard]] int64_t width() const { return whole.shape[1]; }
    [[nodiscard]] Dtype dtype() const { return is_sparse ? values.dtype : whole.dtype; }
};

/// Refuses tensors that are no matrices of floating numbers, and parts whose shapes do not fit.
diopiError_t read(std::string_view op, std::string_view argument, diopiConstTensorHandle_t handle, Matrix& matrix) {
    matrix.whole = view(handle);
    if (matrix.whole.rank() != 2) return wrong_shape(op, argument, matrix.whole.shape, "2 dimensions");
    diopiError_t error = diopiIsTensorSparse == nullptr ? diopiSuccess : diopiIsTensorSparse(handle, &matrix.is_sparse);
    if (error != diopiSuccess) return error;
    if (!matrix.is_sparse) return check_computable(op, argument, matrix.whole);
    diopiConstTensorHandle_t crow = nullptr, col = nullptr, values = nullptr;
    error = diopiGetTensorCrowIndices(handle, &crow);
    if (error == diopiSuccess) error = diopiGetTensorColIndices(handle, &col);
    if (error == diopiSuccess) error = diopiGetTensorValues(handle, &values);
    if (error != diopiSuccess) return error;
    matrix.starts = view(crow), matrix.columns = view(col), matrix.values = view(values);
    for (const View* indices : {&matrix.starts, &matrix.columns}) {
        if (!is_integer(indices->dtype)) return unsupported(op, argument, indices->dtype, "indices of int32 or int64");
    }
    error = check_computable(op, argument, matrix.values);
    if (error == diopiSuccess) error = check_shape(op, "crow_indices", matrix.starts, Shape{matrix.rows() + 1});
    return error == diopiSuccess ? check_shape(op, "col_indices", matrix.columns, matrix.values.shape) : error;
}

/// The elements of a sparse matrix by rows.
template <class T>
struct Csr {
    const int64_t *starts = nullptr, *columns = nullptr;
    const T* values = nullptr;
};

/// Refuses indices that leave the matrix.
template <class T>
diopiError_t load(std::string_view op, std::string_view argument, Staging& staging, const Matrix& matrix, Csr<T>& csr) {
    csr = {staging.in<int64_t>(matrix.starts), staging.in<int64_t>(matrix.columns), staging.in<T>(matrix.values)};
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t count = matrix.values.numel, rows = matrix.rows(), width = matrix.width();
    bool fits = csr.starts[0] >= 0 && csr.starts[rows] <= count && std::is_sorted(csr.starts, csr.starts + rows + 1);
    for (int64_t k = 0; k < count; ++k) fits = fits && csr.columns[k] >= 0 && csr.columns[k] < width;
    if (fits) return diopiSuccess;
    return refuse(op, std::string(argument) + " has indices that leave its " + std::to_string(count) +
                          " values or its " + std::to_string(width) + " columns");
}

/// The matrix with all its elements.
template <class T>
diopiError_t dense(std::string_view op, std::string_view argument, Staging& staging, const Matrix& matrix,
                   const T*& to) {
    if (!matrix.is_sparse) {
        to = staging.in<T>(matrix.whole);
        return staging.error();
    }
    Csr<T> csr;
    if (const diopiError_t error = load(op, argument, staging, matrix, csr); error != diopiSuccess) return error;
    const int64_t width = matrix.width();
    T* made = staging.buffer<T>(std::max<int64_t>(matrix.rows() * width, 1));
    if (staging.error() != diopiSuccess) return staging.error();
    std::fill_n(made, matrix.rows() * width, T(0));
    for (int64_t i = 0; i < matrix.rows(); ++i) {
        for (int64_t k = csr.starts[i]; k < csr.starts[i + 1]; ++k) made[i * width + csr.columns[k]] += csr.values[k];
    }
    to = made;
    return diopiSuccess;
}

/// One row of the product.
template <class T>
void product_row(const Csr<T>& csr, int64_t i, const T* right, int64_t n, T* row) {
    std::fill_n(row, n, T(0));
    for (int64_t k = csr.starts[i]; k < csr.starts[i + 1]; ++k) {
        const T factor = csr.values[k];
        const T* from = right + csr.columns[k] * n;
        for (int64_t j = 0; j < n; ++j) row[j] += factor * from[j];
    }
}

/// A sparse input takes the rows of mat2 that its elements name; a dense one is a product of dense matrices.
template <class T>
diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const View& out, const Matrix& input,
                      const Matrix& mat2) {
    Staging staging(ctx);
    const int64_t m = input.rows(), n = mat2.width();
    const T* right = nullptr;
    if (const diopiError_t error = dense(op, "mat2", staging, mat2, right); error != diopiSuccess) return error;
    if (!input.is_sparse) {
        const T* left = staging.in<T>(input.whole);
        T* to = staging.out<T>(out);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = product(ctx, {m, n, input.width()}, {left}, {right}, nullptr, to);
        return error == diopiSuccess ? staging.finish() : error;
    }
    Csr<T> csr;
    if (const diopiError_t error = load(op, "input", staging, input, csr); error != diopiSuccess) return error;
    T* to = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto make_row = best<product_row<T>>();
    const int64_t work = (input.values.numel / std::max<int64_t>(m, 1) + 1) * n;
    parallel_for(m, work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) make_row(csr, i, right, n, to + i * n);
    });
    return staging.finish();
}

/// out = input mat2. Source: torch.sparse.mm.
diopiError_t sparse_product(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat2) {
    Matrix a, b;
    diopiError_t error = read(op, "input", input, a);
    if (error == diopiSuccess) error = read(op, "mat2", mat2, b);
    if (error != diopiSuccess) return error;
    if (b.rows() != a.width()) {
        return wrong_shape(op, "mat2", b.whole.shape, std::to_string(a.width()) + " rows, as input has columns");
    }
    if (b.dtype() != a.dtype()) return unsupported(op, "mat2", b.dtype(), name(a.dtype()));
    const View y = view(out);
    if (error = check_shape(op, "out", y, Shape{a.rows(), b.width()}); error != diopiSuccess) return error;
    return a.dtype() == Dtype::float64 ? multiply<double>(ctx, op, y, a, b) : multiply<float>(ctx, op, y, a, b);
}

}  // namespace

#include "kernels/entries/sparse.inc"

}  // namespace diopi::cpu
