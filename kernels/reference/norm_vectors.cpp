/// Division of vectors by their norms.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction_norm.hpp"
#include "kernels/reference/rows_along.hpp"

namespace diopi::reference {

namespace {

/// x / max(n, eps), n the norm of order p along axis; a NaN stays.
diopiError_t normalise_vectors(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t output,
                               diopiConstTensorHandle_t input, float p, int64_t axis, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_floating(input);
        const Operand<double> x(input, "input");
        WriteOnly<T> y(output, "output");
        require_shape("output", y.shape(), x.shape());
        const RowsAlong rows(x.shape(), axis);
        for (int64_t r = 0; r < rows.count(); ++r) {
            const auto at = [&](int64_t k) { return x[rows.place(r, k)]; };
            const T norm = norm_of<T>(static_cast<double>(p), rows.n, at);
            const T divisor = T(eps) > norm ? T(eps) : norm;
            for (int64_t k = 0; k < rows.n; ++k) y[rows.place(r, k)] = T(at(k)) / divisor;
        }
        y.store();
    });
}

/// g / d - sum(g * x / d^2) dn/dx, d = max(n, eps); without the second term where n is below eps.
diopiError_t normalise_vectors_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input, float p,
                                        int64_t axis, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_floating(input);
        const Operand<double> g(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), x.shape());
        require_shape("grad_input", gx.shape(), x.shape());
        const RowsAlong rows(x.shape(), axis);
        const auto order = static_cast<double>(p);
        for (int64_t r = 0; r < rows.count(); ++r) {
            const auto at = [&](int64_t k) { return x[rows.place(r, k)]; };
            const T norm = norm_of<T>(order, rows.n, at);
            const bool is_below = T(eps) > norm;
            const T divisor = is_below ? T(eps) : norm;
            const T sum = is_below ? T(0) : pairwise_sum<T>(rows.n, [&](int64_t k) {
                return T(g[rows.place(r, k)]) * (T(at(k)) / divisor / divisor);
            });
            const double sharing = extremes_of(order, rows.n, at, norm);
            for (int64_t k = 0; k < rows.n; ++k) {
                const T slope = is_below ? T(0) : norm_slope<T>(order, at(k), norm, sharing);
                const T moved = slope == T(0) ? T(0) : sum * slope;
                gx[rows.place(r, k)] = T(g[rows.place(r, k)]) / divisor - moved;
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/norm_vectors.inc"

}  // namespace diopi::reference
