/// Cholesky factors, systems of equations with a triangular matrix, and their gradients.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/matrices.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A triangular matrix (n, n) in memory, or its transpose.
struct Triangle {
    const double* data;
    int64_t n;
    bool is_lower, is_transposed, has_unit_diagonal = false;

    /// Element (i, j) of the triangle that is meant.
    [[nodiscard]] double operator()(int64_t i, int64_t j) const {
        return is_transposed ? data[j * n + i] : data[i * n + j];
    }
};

/// x with triangle * x = b, by substitution; b and x are (n, columns).
template <class T>
std::vector<T> solve(const Triangle& triangle, const std::vector<T>& b, int64_t columns) {
    const int64_t n = triangle.n;
    std::vector<T> x(b.size());
    for (int64_t step = 0; step < n; ++step) {
        const int64_t i = triangle.is_lower ? step : n - 1 - step;
        for (int64_t c = 0; c < columns; ++c) {
            Sum<T> sum;
            sum += b[static_cast<size_t>(i * columns + c)];
            for (int64_t before = 0; before < step; ++before) {
                const int64_t j = triangle.is_lower ? before : n - 1 - before;
                sum += -(T(triangle(i, j)) * x[static_cast<size_t>(j * columns + c)]);
            }
            T& to = x[static_cast<size_t>(i * columns + c)];
            to = triangle.has_unit_diagonal ? sum.value() : sum.value() / T(triangle(i, i));
        }
    }
    return x;
}

template <class T>
std::vector<T> numbers(const double* from, int64_t count) {
    return std::vector<T>(from, from + count);
}

// ---- Cholesky ----

/// A number of a factor that is not defined: any is right.
double undefined(double x) { return x; }
Inexact undefined(const Inexact& x) { return {x.value, std::numeric_limits<double>::infinity()}; }

bool is_positive(double x) { return x > 0; }
bool is_positive(const Inexact& x) { return x.value > 0; }

/// The factor of one matrix, of which the triangle that at(i, j), j <= i, names is read: l_ij = (a_ij - sum of
/// l_ik l_jk) / l_jj. Returns 0, or the order of the first leading minor that is not positive; the columns from there
/// on are not defined then, and stay as they are in the matrix.
template <class T, class At>
int64_t factorise(int64_t n, const At& at, std::vector<T>& l) {
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) l[static_cast<size_t>(i * n + j)] = at(i, j);
    }
    for (int64_t j = 0; j < n; ++j) {
        const auto rest = [&](int64_t i) {
            Sum<T> sum;
            sum += at(i, j);
            for (int64_t k = 0; k < j; ++k)
                sum += -(l[static_cast<size_t>(i * n + k)] * l[static_cast<size_t>(j * n + k)]);
            return sum.value();
        };
        using std::sqrt;
        const T square = rest(j);
        if (!is_positive(square)) {
            for (int64_t i = j; i < n; ++i) {
                for (int64_t k = j; k <= i; ++k) {
                    T& number = l[static_cast<size_t>(i * n + k)];
                    number = undefined(number);
                }
            }
            return j + 1;
        }
        const T diagonal = sqrt(square);
        for (int64_t i = j + 1; i < n; ++i) l[static_cast<size_t>(i * n + j)] = rest(i) / diagonal;
        l[static_cast<size_t>(j * n + j)] = diagonal;
    }
    return 0;
}

/// Source: torch.linalg.cholesky_ex.
diopiError_t cholesky(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out, diopiTensorHandle_t info,
                      diopiConstTensorHandle_t mat, bool upper, bool checkerror) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(mat, "mat");
        const Operand<double> a(mat, "mat");
        Output<T> to(out, "out");
        Output<int64_t> orders(info, "info");
        const int64_t n = side_of(a.shape(), "mat");
        require_shape("out", to.shape(), a.shape());
        require_shape("info", orders.shape(), batch_of(a.shape(), "mat"));
        for (int64_t b = 0; b < orders.numel(); ++b) {
            const double* from = a.data() + b * n * n;
            std::vector<T> l(static_cast<size_t>(n * n), T(0));
            const auto at = [&](int64_t i, int64_t j) { return T(upper ? from[j * n + i] : from[i * n + j]); };
            orders[b] = factorise<T>(n, at, l);
            if (checkerror && orders[b] != 0) {
                refuse("mat: the leading minor of order " + std::to_string(orders[b]) + " of matrix " +
                       std::to_string(b) + " is not positive");
            }
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                    to[(b * n + i) * n + j] = l[static_cast<size_t>(upper ? j * n + i : i * n + j)];
                }
            }
        }
        to.store();
        orders.store();
    });
}

/// The symmetric part of L^-T Phi(L^T G) L^-1; Phi takes the lower triangle and half of the diagonal. Source:
/// torch.linalg.cholesky_ex.
diopiError_t cholesky_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_mat,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t factor, bool upper) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(factor, "L");
        const Operand<double> g(grad_output, "grad_output"), saved(factor, "L");
        Output<T> to(grad_mat, "grad_mat");
        const int64_t n = side_of(saved.shape(), "L"), size = n * n;
        require_shape("grad_output", g.shape(), saved.shape());
        require_shape("grad_mat", to.shape(), saved.shape());
        for (int64_t start = 0; start < to.numel(); start += size) {
            const auto at = [&](const Operand<double>& x, int64_t i, int64_t j) {
                return T(x[start + (upper ? j * n + i : i * n + j)]);
            };
            std::vector<T> phi(static_cast<size_t>(size), T(0)), turned(phi);
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t j = 0; j <= i; ++j) {
                    Sum<T> sum;
                    for (int64_t k = i; k < n; ++k) sum += at(saved, k, i) * at(g, k, j);
                    phi[static_cast<size_t>(i * n + j)] = i == j ? sum.value() * T(0.5) : sum.value();
                }
            }
            const Triangle transposed{saved.data() + start, n, false, !upper};
            const std::vector<T> left = solve<T>(transposed, phi, n);
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t j = 0; j < n; ++j)
                    turned[static_cast<size_t>(j * n + i)] = left[static_cast<size_t>(i * n + j)];
            }
            const std::vector<T> both = solve<T>(transposed, turned, n);
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                    const T sum = both[static_cast<size_t>(i * n + j)] + both[static_cast<size_t>(j * n + i)];
                    to[start + i * n + j] = sum * T(0.5);
                }
            }
        }
        to.store();
    });
}

// ---- systems of equations ----

/// The sizes of mat X = b: mat (*, n, n), b (*, n, columns); `batch` is what both broadcast to.
struct Systems {
    ShapeView b_batch, mat_batch;
    Shape batch;
    int64_t n, columns;
};

Systems systems_of(ShapeView b, ShapeView mat) {
    Systems systems{batch_of(b, "b"), batch_of(mat, "mat"), {}, side_of(mat, "mat"), b.back()};
    require_shape("b", b, matrices(systems.b_batch, systems.n, systems.columns));
    systems.batch = common_batch(systems.b_batch, systems.mat_batch);
    return systems;
}

/// Source: torch.triangular_solve.
diopiError_t triangular_solve(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                              diopiTensorHandle_t cloned_mat, diopiConstTensorHandle_t b, diopiConstTensorHandle_t mat,
                              bool upper, bool transpose, bool unitriangular) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(b, "b");
        const Operand<double> right(b, "b"), a(mat, "mat");
        Output<T> to(out, "out"), copy(cloned_mat, "cloned_mat");
        const Systems s = systems_of(right.shape(), a.shape());
        require_shape("out", to.shape(), matrices(s.batch, s.n, s.columns));
        require_shape("cloned_mat", copy.shape(), matrices(s.batch, s.n, s.n));
        T *x = to.data(), *next = copy.data();
        for_each_matrix<2>(s.batch, {s.b_batch, s.mat_batch}, [&](const auto& at) {
            const double* own = a.data() + at[1] * s.n * s.n;
            const Triangle triangle{own, s.n, upper == transpose, transpose, unitriangular};
            const int64_t count = s.n * s.columns;
            const std::vector<T> solved =
                solve<T>(triangle, numbers<T>(right.data() + at[0] * count, count), s.columns);
            x = std::copy(solved.begin(), solved.end(), x);
            next = std::copy(own, own + s.n * s.n, next);
        });
        to.store();
        copy.store();
    });
}

/// The solution that a gradient gets. A library may solve the system again: then it has the error of that.
std::vector<double> saved_solution(const Triangle&, const double*, const double* x, int64_t count, int64_t, double) {
    return numbers<double>(x, count);
}
std::vector<Inexact> saved_solution(const Triangle& triangle, const double* b, const double* x, int64_t count,
                                    int64_t columns, Inexact) {
    std::vector<Inexact> solved = solve<Inexact>(triangle, numbers<Inexact>(b, count), columns);
    for (int64_t k = 0; k < count; ++k) solved[static_cast<size_t>(k)].value = x[k];
    return solved;
}

/// Source: torch.triangular_solve.
diopiError_t triangular_solve_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_b,
                                       diopiTensorHandle_t grad_mat, diopiConstTensorHandle_t grad_x,
                                       diopiConstTensorHandle_t grad_cloned_mat, diopiConstTensorHandle_t x,
                                       diopiConstTensorHandle_t b, diopiConstTensorHandle_t mat, bool upper,
                                       bool transpose, bool unitriangular) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(b, "b");
        const Operand<double> g(grad_x, "grad_x"), g_copy(grad_cloned_mat, "grad_cloned_mat?"), solution(x, "x");
        const Operand<double> a(mat, "mat"), right(b, "b");
        Output<T> gb(grad_b, "grad_b?", Output<T>::Start::kZero), ga(grad_mat, "grad_mat?", Output<T>::Start::kZero);
        const Systems s = systems_of(right.shape(), a.shape());
        const int64_t n = s.n, count = n * s.columns;
        require_shape("grad_x", g.shape(), matrices(s.batch, n, s.columns));
        require_shape("x", solution.shape(), g.shape());
        if (g_copy) require_shape("grad_cloned_mat", g_copy.shape(), matrices(s.batch, n, n));
        if (gb) require_shape("grad_b", gb.shape(), right.shape());
        if (ga) require_shape("grad_mat", ga.shape(), a.shape());
        int64_t number = 0;
        for_each_matrix<2>(s.batch, {s.b_batch, s.mat_batch}, [&](const auto& at) {
            const double* own = a.data() + at[1] * n * n;
            const Triangle triangle{own, n, upper != transpose, !transpose, unitriangular};
            const Triangle forward{own, n, upper == transpose, transpose, unitriangular};
            const std::vector<T> solved = solve<T>(triangle, numbers<T>(g.data() + number * count, count), s.columns);
            const std::vector<T> own_x = saved_solution(forward, right.data() + at[0] * count,
                                                        solution.data() + number * count, count, s.columns, T());
            for (int64_t k = 0; gb && k < count; ++k) gb[at[0] * count + k] += solved[static_cast<size_t>(k)];
            for (int64_t k = 0; ga && k < n * n; ++k) {
                const int64_t row = k / n, column = k % n, i = transpose ? column : row, j = transpose ? row : column;
                T& to = ga[at[1] * n * n + k];
                if (g_copy) to += T(g_copy[number * n * n + k]);
                const bool is_used = row == column ? !unitriangular : (row < column) == upper;
                if (!is_used) continue;
                Sum<T> sum;
                for (int64_t c = 0; c < s.columns; ++c) {
                    sum +=
                        solved[static_cast<size_t>(i * s.columns + c)] * own_x[static_cast<size_t>(j * s.columns + c)];
                }
                to -= sum.value();
            }
            ++number;
        });
        gb.store();
        ga.store();
    });
}

}  // namespace

#include "kernels/entries/linear_solve.inc"

}  // namespace diopi::reference
