/// Cholesky factors, systems of equations with a triangular matrix, and their gradients. Half types compute in float32.
/// The matrices of a batch run on different threads.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/triangular.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/solve.hpp"

namespace diopi::cpu {

namespace {

/// Calls run<T>() with the type that tensors of the dtype compute in.
template <class Run>
diopiError_t in_compute_type(Dtype dtype, Run&& run) {
    return dtype == Dtype::float64 ? run.template operator()<double>() : run.template operator()<float>();
}

/// to (columns, rows) = the transpose of from; rows are `stride` and `to_stride` elements apart.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t stride, T* to, int64_t to_stride) {
    constexpr int64_t kTile = 16;
    for (int64_t i = 0; i < rows; i += kTile) {
        for (int64_t j = 0; j < columns; j += kTile) {
            for (int64_t row = i; row < std::min(i + kTile, rows); ++row) {
                for (int64_t column = j; column < std::min(j + kTile, columns); ++column) {
                    to[column * to_stride + row] = from[row * stride + column];
                }
            }
        }
    }
}
/// to (n, n) = the transpose of from.
template <class T>
void transpose(int64_t n, const T* from, T* to) {
    transpose(n, n, from, n, to, n);
}

// ---- Cholesky ----

constexpr int64_t kFactorBlock = 64;

/// The upper factor in place of the upper triangle of a (n, n), whose rows are `stride` elements apart. Returns the
/// order of the first minor that is not positive, or 0.
template <class T>
int64_t factorise_block(int64_t n, T* a, int64_t stride) {
    for (int64_t j = 0; j < n; ++j) {
        T* own = a + j * stride;
        if (!(own[j] > 0)) return j + 1;
        own[j] = std::sqrt(own[j]);
        for (int64_t c = j + 1; c < n; ++c) own[c] /= own[j];
        for (int64_t i = j + 1; i < n; ++i) {
            T* row = a + i * stride;
            const T factor = own[i];
            for (int64_t c = i; c < n; ++c) row[c] -= factor * own[c];
        }
    }
    return 0;
}

/// The lower factor in place of the lower triangle of a (n, n); block columns from left to right. Returns the order of
/// the first minor that is not positive, or 0; the columns from there on may hold anything. `space` has kFactorBlock *
/// n elements.
template <class T>
int64_t factorise(int64_t n, T* a, T* space) {
    for (int64_t start = 0; start < n; start += kFactorBlock) {
        const int64_t end = std::min(start + kFactorBlock, n), width = end - start, rows = n - start;
        for (int64_t j = start; j < end; ++j) {
            for (int64_t k = 0; k < start; ++k) space[(j - start) * start + k] = -a[j * n + k];
        }
        T* block = a + start * n + start;
        if (start > 0) gemm<T>(rows, width, start, {a + start * n, n, 1}, {space, 1, start}, block, n, true);
        // The block's columns as rows, so that each step is one of neighbours.
        transpose(rows, width, block, n, space, rows);
        const int64_t order = best<factorise_block<T>>()(width, space, rows), done = order == 0 ? width : order - 1;
        for_each_columns(done, n - end, [&](int64_t first, int64_t size) {
            best<solve_block<T>>()(done, size, {space, 1, rows}, false, space + width + first, rows);
        });
        transpose(width, rows, space, rows, block, n);
        if (order != 0) return start + order;
    }
    return 0;
}

/// out = the factor of mat (n, n), with zeros in the other triangle. Returns what factorise does.
template <class T>
int64_t factor_of(int64_t n, const T* mat, bool upper, T* out, T* space) {
    T* lower = upper ? space : out;
    T* block = space + n * n;
    if (upper)
        transpose(n, mat, lower);
    else
        std::copy_n(mat, n * n, lower);
    const int64_t order = factorise(n, lower, block);
    for (int64_t i = 0; i < n; ++i) std::fill(lower + i * n + i + 1, lower + (i + 1) * n, T(0));
    if (upper) transpose(n, lower, out);
    return order;
}

template <class T>
diopiError_t run_cholesky(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& info,
                          const View& mat, bool upper, bool checkerror) {
    const int64_t n = mat.shape.back(), count = numel(batch_of(mat));
    Staging staging(ctx);
    const T* from = staging.in<T>(mat);
    T* to = staging.out<T>(out);
    auto* orders = staging.out<int64_t>(info);
    T* space = staging.buffer<T>(std::max<int64_t>(count, 1) * (n + kFactorBlock) * n);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(count, n * n * n / 3, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            const int64_t at = b * n * n;
            orders[b] = factor_of(n, from + at, upper, to + at, space + b * (n + kFactorBlock) * n);
        }
    });
    const int64_t* wrong = std::find_if(orders, orders + count, [](int64_t order) { return order != 0; });
    if (checkerror && wrong != orders + count) {
        return refuse(op, "mat: the leading minor of order " + std::to_string(*wrong) + " of matrix " +
                              std::to_string(wrong - orders) + " is not positive");
    }
    return staging.finish();
}

/// mat = L L^T, or U^T U. Source: torch.linalg.cholesky_ex.
diopiError_t cholesky(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiTensorHandle_t info,
                      diopiConstTensorHandle_t mat, bool upper, bool checkerror) {
    const View y = view(out), orders = view(info), x = view(mat);
    diopiError_t error = check_square(op, "mat", x);
    if (error == diopiSuccess) error = check_shape(op, "out", y, x.shape);
    if (error == diopiSuccess) error = check_shape(op, "info", orders, batch_of(x));
    if (error != diopiSuccess) return error;
    return in_compute_type(x.dtype,
                           [&]<class T>() { return run_cholesky<T>(ctx, op, y, orders, x, upper, checkerror); });
}

/// The gradient of one lower factor l: the symmetric part of l^-T Phi(l^T g) l^-1. `space` has 4 n n elements.
template <class T>
void factor_gradient(int64_t n, const T* l, const T* g, T* to, T* space) {
    T *lower = space, *phi = lower + n * n, *turned = phi + n * n, *signs = turned + n * n;
    for (int64_t i = 0; i < n; ++i) {
        std::copy_n(g + i * n, i + 1, lower + i * n);
        std::fill(lower + i * n + i + 1, lower + (i + 1) * n, T(0));
    }
    std::copy_n(l, n * n, turned);
    for (int64_t i = 0; i < n; ++i) std::fill(turned + i * n + i + 1, turned + (i + 1) * n, T(0));
    gemm<T>(n, n, n, {turned, 1, n}, {lower, n, 1}, phi, n, false);
    for (int64_t i = 0; i < n; ++i) {
        phi[i * n + i] *= T(0.5);
        std::fill(phi + i * n + i + 1, phi + (i + 1) * n, T(0));
    }
    solve_triangular<T>(n, n, l, true, false, false, phi, signs);
    transpose(n, phi, turned);
    solve_triangular<T>(n, n, l, true, false, false, turned, signs);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            to[i * n + j] = to[j * n + i] = (turned[i * n + j] + turned[j * n + i]) * T(0.5);
        }
    }
}

template <class T>
diopiError_t run_cholesky_backward(diopiContextHandle_t ctx, const View& grad_mat, const View& grad_output,
                                   const View& factor, bool upper) {
    const int64_t n = factor.shape.back(), size = n * n, count = numel(batch_of(factor));
    Staging staging(ctx);
    const T *l = staging.in<T>(factor), *g = staging.in<T>(grad_output);
    T* to = staging.out<T>(grad_mat);
    T* space = staging.buffer<T>(std::max<int64_t>(count, 1) * 6 * size);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(count, 3 * n * size, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            T* own = space + b * 6 * size;
            const T *own_l = l + b * size, *own_g = g + b * size;
            if (upper) {
                transpose(n, own_l, own + 4 * size);
                transpose(n, own_g, own + 5 * size);
                own_l = own + 4 * size, own_g = own + 5 * size;
            }
            factor_gradient(n, own_l, own_g, to + b * size, own);
        }
    });
    return staging.finish();
}

diopiError_t cholesky_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_mat,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t factor, bool upper) {
    const View y = view(grad_mat), g = view(grad_output), l = view(factor);
    diopiError_t error = check_square(op, "L", l);
    if (error == diopiSuccess) error = check_computable(op, "grad_output", g);
    if (error == diopiSuccess) error = check_shape(op, "grad_output", g, l.shape);
    if (error == diopiSuccess) error = check_shape(op, "grad_mat", y, l.shape);
    if (error != diopiSuccess) return error;
    return in_compute_type(l.dtype, [&]<class T>() { return run_cholesky_backward<T>(ctx, y, g, l, upper); });
}

// ---- systems of equations ----

/// The arguments that the function and its gradient share.
struct Systems {
    View b, mat;
    bool upper, transpose, unitriangular;
    MatrixPairs pairs;

    [[nodiscard]] int64_t n() const { return mat.shape.back(); }
    [[nodiscard]] int64_t columns() const { return b.shape.back(); }
    [[nodiscard]] Shape shape() const { return matrices(pairs.batch, n(), columns()); }

    [[nodiscard]] diopiError_t read(std::string_view op) {
        if (const diopiError_t error = check_matrices(op, {{"b", b}, {"mat", mat}}); error != diopiSuccess)
            return error;
        if (const diopiError_t error = check_square(op, "mat", mat); error != diopiSuccess) return error;
        if (size_from_back(b, 1) != n())
            return wrong_shape(op, "b", b.shape, std::to_string(n()) + " rows, as mat has");
        return pair_matrices(op, b, mat, pairs);
    }
};

template <class T>
diopiError_t run_solve(diopiContextHandle_t ctx, const Systems& s, const View& out, const View& cloned_mat) {
    const int64_t n = s.n(), columns = s.columns(), size = n * columns;
    Staging staging(ctx);
    const T *b = staging.in<T>(s.b), *mat = staging.in<T>(s.mat);
    T *to = staging.out<T>(out), *copy = staging.out<T>(cloned_mat);
    T* space = staging.buffer<T>(std::max<int64_t>(s.pairs.count() * size, 1));
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(s.pairs.count(), n * size, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            const T* own = mat + s.pairs.second[static_cast<size_t>(k)] * n * n;
            std::copy_n(b + s.pairs.first[static_cast<size_t>(k)] * size, size, to + k * size);
            std::copy_n(own, n * n, copy + k * n * n);
            solve_triangular<T>(n, columns, own, s.transpose, s.upper == s.transpose, s.unitriangular, to + k * size,
                                space + k * size);
        }
    });
    return staging.finish();
}

/// mat x = b, or mat^T x = b. Source: torch.triangular_solve.
diopiError_t triangular_solve(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                              diopiTensorHandle_t cloned_mat, diopiConstTensorHandle_t b, diopiConstTensorHandle_t mat,
                              bool upper, bool transpose, bool unitriangular) {
    Systems s{view(b), view(mat), upper, transpose, unitriangular, {}};
    const View x = view(out), copy = view(cloned_mat);
    diopiError_t error = s.read(op);
    if (error == diopiSuccess) error = check_shape(op, "out", x, s.shape());
    if (error == diopiSuccess) error = check_shape(op, "cloned_mat", copy, matrices(s.pairs.batch, s.n(), s.n()));
    if (error != diopiSuccess) return error;
    return in_compute_type(s.b.dtype, [&]<class T>() { return run_solve<T>(ctx, s, x, copy); });
}

/// The gradient of mat for one system: -(grad_b x^T), transposed where the system is, in the triangle that is used.
template <class T>
void matrix_gradient(const Systems& s, const T* negative_grad_b, const T* x, T* to) {
    const int64_t n = s.n(), columns = s.columns();
    const MatrixView<T> g{negative_grad_b, columns, 1}, solution{x, columns, 1};
    const MatrixView<T>&left = s.transpose ? solution : g, &right = s.transpose ? g : solution;
    gemm<T>(n, n, columns, left, {right.data, 1, columns}, to, n, false);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t own = s.unitriangular ? 0 : 1;
        const int64_t first = s.upper ? i + 1 - own : 0, last = s.upper ? n : i + own;
        std::fill(to + i * n, to + i * n + first, T(0));
        std::fill(to + i * n + last, to + (i + 1) * n, T(0));
    }
}

/// to[numbers[k]] += from[k], in the order of k.
template <class T>
void add_up(const std::vector<int64_t>& numbers, int64_t size, const T* from, T* to, int64_t count) {
    std::fill_n(to, count, T(0));
    for (size_t k = 0; k < numbers.size(); ++k) {
        T* own = to + numbers[k] * size;
        for (int64_t i = 0; i < size; ++i) own[i] += from[static_cast<int64_t>(k) * size + i];
    }
}

template <class T>
diopiError_t run_solve_backward(diopiContextHandle_t ctx, const Systems& s, diopiTensorHandle_t grad_b,
                                diopiTensorHandle_t grad_mat, const View& grad_x,
                                diopiConstTensorHandle_t grad_cloned_mat, const View& solution) {
    const int64_t n = s.n(), columns = s.columns(), size = n * columns, count = s.pairs.count();
    Staging staging(ctx);
    const T *mat = staging.in<T>(s.mat), *g = staging.in<T>(grad_x), *x = staging.in<T>(solution);
    const T* copied = grad_mat == nullptr ? nullptr : staging.in<T>(grad_cloned_mat);
    T *to_b = staging.out<T>(grad_b), *to_mat = staging.out<T>(grad_mat);
    T* solved = staging.buffer<T>(std::max<int64_t>(count * size, 1));
    T* negative = staging.buffer<T>(std::max<int64_t>(count * size, 1));
    T* squares = grad_mat == nullptr ? nullptr : staging.buffer<T>(std::max<int64_t>(count * n * n, 1));
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(count, 2 * n * size, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            T *own = solved + k * size, *contrary = negative + k * size;
            std::copy_n(g + k * size, size, own);
            solve_triangular<T>(n, columns, mat + s.pairs.second[static_cast<size_t>(k)] * n * n, !s.transpose,
                                s.upper != s.transpose, s.unitriangular, own, contrary);
            if (squares == nullptr) continue;
            for (int64_t i = 0; i < size; ++i) contrary[i] = -own[i];
            matrix_gradient<T>(s, contrary, x + k * size, squares + k * n * n);
            for (int64_t i = 0; copied != nullptr && i < n * n; ++i) squares[k * n * n + i] += copied[k * n * n + i];
        }
    });
    if (to_b != nullptr) add_up(s.pairs.first, size, solved, to_b, s.b.numel);
    if (to_mat != nullptr) add_up(s.pairs.second, n * n, squares, to_mat, s.mat.numel);
    return staging.finish();
}

diopiError_t triangular_solve_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_b,
                                       diopiTensorHandle_t grad_mat, diopiConstTensorHandle_t grad_x,
                                       diopiConstTensorHandle_t grad_cloned_mat, diopiConstTensorHandle_t x,
                                       diopiConstTensorHandle_t b, diopiConstTensorHandle_t mat, bool upper,
                                       bool transpose, bool unitriangular) {
    Systems s{view(b), view(mat), upper, transpose, unitriangular, {}};
    const View g = view(grad_x), solution = view(x);
    diopiError_t error = s.read(op);
    for (const auto& [argument, v] : {std::pair<std::string_view, const View&>("grad_x", g), {"x", solution}}) {
        if (error == diopiSuccess) error = check_computable(op, argument, v);
        if (error == diopiSuccess) error = check_shape(op, argument, v, s.shape());
    }
    if (error == diopiSuccess && grad_cloned_mat != nullptr) {
        error = check_shape(op, "grad_cloned_mat", view(grad_cloned_mat), matrices(s.pairs.batch, s.n(), s.n()));
    }
    if (error == diopiSuccess) error = check_shape_or_null(op, "grad_b", grad_b, s.b.shape);
    if (error == diopiSuccess) error = check_shape_or_null(op, "grad_mat", grad_mat, s.mat.shape);
    if (error != diopiSuccess) return error;
    return in_compute_type(s.b.dtype, [&]<class T>() {
        return run_solve_backward<T>(ctx, s, grad_b, grad_mat, g, grad_cloned_mat, solution);
    });
}

}  // namespace

#include "kernels/entries/linear_solve.inc"

}  // namespace diopi::cpu
