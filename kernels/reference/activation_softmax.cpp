/// softmax, its logarithm and their gradients.
#include "kernels/reference/activation_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A tensor as (outer, n, inner), n along dim. A 0-dim tensor has n = 1.
struct Columns {
    int64_t outer = 1, n = 1, inner = 1;

    Columns(ShapeView shape, int64_t dim) {
        const auto d = static_cast<size_t>(require_dim(dim, static_cast<int64_t>(shape.size())));
        if (shape.empty()) return;
        outer = numel(shape.first(d));
        n = shape[d];
        inner = numel(shape.subspan(d + 1));
    }
};

/// y = exp(x - m), sum and m for the `inner` columns of one (n, inner) slice. All columns step together, so that memory
/// is read in its order. A column of -inf, or with +inf or NaN, gives NaN by arithmetic alone.
template <class T>
struct Slice {
    std::vector<T> greatest;
    std::vector<Sum<T>> sum;

    template <class From>
    void run(const From* x, T* y, int64_t n, int64_t inner) {
        using std::exp;
        greatest.assign(static_cast<size_t>(inner), -std::numeric_limits<double>::infinity());
        sum.assign(static_cast<size_t>(inner), Sum<T>());
        T* m = greatest.data();
        Sum<T>* total = sum.data();
        for (int64_t k = 0; k < n; ++k) {
            for (int64_t i = 0; i < inner; ++i) m[i] = x[k * inner + i] > m[i] ? x[k * inner + i] : m[i];
        }
        for (int64_t k = 0; k < n; ++k) {
            for (int64_t i = 0; i < inner; ++i) {
                y[k * inner + i] = exp(x[k * inner + i] - m[i]);
                total[i] += y[k * inner + i];
            }
        }
    }
};

/// One slice per index of the dimensions before dim.
template <class From, class T, class Finish>
void softmax_slices(const From* x, T* y, const Columns& at, Finish finish) {
    Slice<T> slice;
    for (int64_t o = 0; o < at.outer; ++o) {
        const From* from = x + o * at.n * at.inner;
        T* to = y + o * at.n * at.inner;
        slice.run(from, to, at.n, at.inner);
        for (int64_t k = 0; k < at.n; ++k) {
            for (int64_t i = 0; i < at.inner; ++i) {
                const auto column = static_cast<size_t>(i);
                const int64_t e = k * at.inner + i;
                to[e] = finish(from[e] - slice.greatest[column], to[e], slice.sum[column].value());
            }
        }
    }
}

template <class T>
void log_softmax_of(const double* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    const int64_t shape[] = {outer, n, inner};
    softmax_slices(x, y, Columns(shape, 1), [log_sum = T(0), last = T(0)](T shifted, T, T sum) mutable {
        using std::log;
        if (!(sum == last)) {
            last = sum;
            log_sum = log(sum);
        }
        return shifted - log_sum;
    });
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
        Output<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), y.shape());
        require_shape("grad_input", gx.shape(), y.shape());
        const Columns at(y.shape(), dim);
        std::vector<Sum<T>> sum(static_cast<size_t>(at.inner));
        for (int64_t o = 0; o < at.outer; ++o) {
            const int64_t first = o * at.n * at.inner;
            std::fill(sum.begin(), sum.end(), Sum<T>());
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = first + k * at.inner;
                for (int64_t i = 0; i < at.inner; ++i) sum[static_cast<size_t>(i)] += term(g[row + i], y[row + i]);
            }
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = first + k * at.inner;
                for (int64_t i = 0; i < at.inner; ++i) {
                    gx[row + i] = formula(g[row + i], y[row + i], sum[static_cast<size_t>(i)].value());
                }
            }
        }
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
        Output<T> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        const Columns at(x.shape(), dim);
        if (kLogarithm) {
            log_softmax(x.data(), y.data(), at.outer, at.n, at.inner);
        } else {
            softmax_slices(x.data(), y.data(), at, [](T, T power, T sum) { return power / sum; });
        }
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
