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
struct Slice {
    std::vector<double> greatest, sum;

    void run(const double* x, double* y, int64_t n, int64_t inner) {
        greatest.assign(static_cast<size_t>(inner), -std::numeric_limits<double>::infinity());
        sum.assign(static_cast<size_t>(inner), 0.0);
        double* m = greatest.data();
        double* total = sum.data();
        for (int64_t k = 0; k < n; ++k) {
            for (int64_t i = 0; i < inner; ++i) m[i] = x[k * inner + i] > m[i] ? x[k * inner + i] : m[i];
        }
        for (int64_t k = 0; k < n; ++k) {
            for (int64_t i = 0; i < inner; ++i) {
                y[k * inner + i] = std::exp(x[k * inner + i] - m[i]);
                total[i] += y[k * inner + i];
            }
        }
    }
};

/// One slice per index of the dimensions before dim.
template <class Finish>
void softmax_slices(const double* x, double* y, const Columns& at, Finish finish) {
    Slice slice;
    for (int64_t o = 0; o < at.outer; ++o) {
        const double* from = x + o * at.n * at.inner;
        double* to = y + o * at.n * at.inner;
        slice.run(from, to, at.n, at.inner);
        for (int64_t k = 0; k < at.n; ++k) {
            for (int64_t i = 0; i < at.inner; ++i) {
                const auto column = static_cast<size_t>(i);
                const int64_t e = k * at.inner + i;
                to[e] = finish(from[e] - slice.greatest[column], to[e], slice.sum[column]);
            }
        }
    }
}

}  // namespace

void log_softmax(const double* x, double* y, int64_t outer, int64_t n, int64_t inner) {
    const int64_t shape[] = {outer, n, inner};
    softmax_slices(x, y, Columns(shape, 1), [log_sum = 0.0, last = 0.0](double shifted, double, double sum) mutable {
        if (sum != last) {
            last = sum;
            log_sum = std::log(sum);
        }
        return shifted - log_sum;
    });
}

namespace {

/// grad_input = formula(grad_output, output, s) with s = the sum of term(grad_output, output) along dim.
template <class Term, class Formula>
diopiError_t gradient(diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                      diopiConstTensorHandle_t output, int64_t dim, Term term, Formula formula) {
    return kernel([&] {
        const Operand<double> g(grad_output, "grad_output");
        const Operand<double> y(output, "output");
        Output<double> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), y.shape());
        require_shape("grad_input", gx.shape(), y.shape());
        const Columns at(y.shape(), dim);
        std::vector<double> sum(static_cast<size_t>(at.inner));
        for (int64_t o = 0; o < at.outer; ++o) {
            const int64_t first = o * at.n * at.inner;
            std::fill(sum.begin(), sum.end(), 0.0);
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = first + k * at.inner;
                for (int64_t i = 0; i < at.inner; ++i) sum[static_cast<size_t>(i)] += term(g[row + i], y[row + i]);
            }
            for (int64_t k = 0; k < at.n; ++k) {
                const int64_t row = first + k * at.inner;
                for (int64_t i = 0; i < at.inner; ++i) {
                    gx[row + i] = formula(g[row + i], y[row + i], sum[static_cast<size_t>(i)]);
                }
            }
        }
        gx.store();
    });
}

/// out = exp(x - m) / sum(exp(x - m)) along dim, m the maximum; its logarithm is x - m - log(sum(exp(x - m))). An empty
/// dim leaves nothing to do.
template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        const Columns at(x.shape(), dim);
        if (kLogarithm) {
            log_softmax(x.data(), y.data(), at.outer, at.n, at.inner);
        } else {
            softmax_slices(x.data(), y.data(), at, [](double, double power, double sum) { return power / sum; });
        }
        y.store();
    });
}

/// grad_input = y * (g - sum(g * y)); for the logarithm g - exp(y) * sum(g).
template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    if (kLogarithm) {
        return gradient(
            grad_input, grad_output, output, dim, [](double g, double) { return g; },
            [](double g, double y, double sum) { return g - std::exp(y) * sum; });
    }
    return gradient(
        grad_input, grad_output, output, dim, [](double g, double y) { return g * y; },
        [](double g, double y, double sum) { return y * (g - sum); });
}

}  // namespace

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::reference
