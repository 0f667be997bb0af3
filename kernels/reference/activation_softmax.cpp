/// softmax, its logarithm and their gradients.
#include "kernels/reference/activation_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/rows_along.hpp"

namespace diopi::reference {

namespace {

/// Neighbouring columns that are computed together, so that memory is read in its order: few enough for their part of
/// the tensor to stay in a cache from one pass to the next.
constexpr int64_t kColumns = 512;

/// Calls visit(offset of the first element, number of columns) for groups of columns along dim.
template <class Visit>
void for_each_group(const RowsAlong& at, Visit&& visit) {
    for (int64_t o = 0; o < at.outer; ++o) {
        for (int64_t first = 0; first < at.inner; first += kColumns) {
            visit(o * at.n * at.inner + first, std::min(kColumns, at.inner - first));
        }
    }
}

/// softmax or its logarithm. A column of -inf, or with +inf or NaN, gives NaN by arithmetic alone.
template <bool kLogarithm, class T, class To>
void softmax_of(const double* x, To& y, const RowsAlong& at) {
    using std::exp, std::log;
    const auto width = static_cast<size_t>(std::min(kColumns, at.inner));
    std::vector<T> greatest(width), total(width);
    Sums<T> sum(width);
    T* __restrict m = greatest.data();
    for_each_group(at, [&](int64_t start, int64_t count) {
        std::ranges::fill(greatest, T(-std::numeric_limits<double>::infinity()));
        sum.clear();
        for (int64_t k = 0; k < at.n; ++k) {
            const double* row = x + start + k * at.inner;
            for (int64_t i = 0; i < count; ++i) m[i] = row[i] > m[i] ? T(row[i]) : m[i];
        }
        for (int64_t k = 0; k < at.n; ++k) {
            const int64_t row = start + k * at.inner;
            sum.add(0, count, [&](int64_t i) {
                const T power = exp(x[row + i] - m[i]);
                if constexpr (!kLogarithm) y[row + i] = power;
                return power;
            });
        }
        for (size_t i = 0; i < width; ++i) {
            const T of_column = sum.value(static_cast<int64_t>(i));
            total[i] = kLogarithm ? log(of_column) : of_column;
        }
        for (int64_t k = 0; k < at.n; ++k) {
            const int64_t row = start + k * at.inner;
            for (int64_t i = 0; i < count; ++i) {
                const T& of_column = total[static_cast<size_t>(i)];
                if constexpr (kLogarithm) {
                    y[row + i] = x[row + i] - m[i] - of_column;
                } else {
                    y[row + i] /= of_column;
                }
            }
        }
    });
}

template <class T>
void log_softmax_of(const double* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    const int64_t shape[] = {outer, n, inner};
    softmax_of<true, T>(x, y, RowsAlong(shape, 1));
}

}  // namespace

void log_softmax(const double* x, double* y, int64_t outer, int64_t n, int64_t inner) {
    log_softmax_of(x, y, outer, n, inner);
}
void log_softmax(const double* x, Inexact* y, int64_t outer, int64_t n, int64_t inner) {
    log_softmax_of(x, y, outer, n, inner);
}

namespace {

/// grad_input = formula(grad_output, output, s) with s = the sum of term(grad_output, output) along dim.
template <class Term, class Formula>
diopiError_t gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                      diopiConstTensorHandle_t output, int64_t dim, Term term, Formula formula) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> y(output, "output");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), y.shape());
        require_shape("grad_input", gx.shape(), y.shape());
        const RowsAlong at(y.shape(), dim);
        const auto width = static_cast<size_t>(std::min(kColumns, at.inner));
        Sums<T> sum(width);
        std::vector<T> total(width);
        for_each_group(at, [&](int64_t start, int64_t count) {
            sum.clear();
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = start + k * at.inner;
                sum.add(0, count, [&](int64_t i) { return term(g[row + i], y[row + i]); });
            }
            for (size_t i = 0; i < width; ++i) total[i] = sum.value(static_cast<int64_t>(i));
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = start + k * at.inner;
                for (int64_t i = 0; i < count; ++i) {
                    gx[row + i] = formula(g[row + i], y[row + i], total[static_cast<size_t>(i)]);
                }
            }
        });
        gx.store();
    });
}

/// out = exp(x - m) / sum(exp(x - m)) along dim, m the maximum; its logarithm is x - m - log(sum(exp(x - m))). An empty
/// dim leaves nothing to do.
template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        std::conditional_t<kLogarithm, WriteOnly<T>, Output<T>> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        const RowsAlong at(x.shape(), dim);
        softmax_of<kLogarithm, T>(x.data(), y, at);
        y.store();
    });
}

/// grad_input = y * (g - sum(g * y)); for the logarithm g - exp(y) * sum(g).
template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    if (kLogarithm) {
        return gradient(
            ctx, grad_input, grad_output, output, dim, [](auto g, auto) { return g; },
            [](auto g, auto y, auto sum) {
                using std::exp;
                return g - exp(y) * sum;
            });
    }
    return gradient(
        ctx, grad_input, grad_output, output, dim, [](auto g, auto y) { return g * y; },
        [](auto g, auto y, auto sum) { return y * (g - sum); });
}

}  // namespace

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::reference
