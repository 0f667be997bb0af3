/// Normalisation by the root mean square of the last dimensions.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// 1 / sqrt(mean(x^2) + eps) of n numbers x(0), x(1), ...; NaN for none.
template <class T, class Element>
T inverse_rms(int64_t n, double eps, const Element& x) {
    using std::sqrt;
    const T squares = pairwise_sum<T>(n, [&](int64_t i) { return x(i) * x(i); });
    return 1.0 / sqrt(squares / static_cast<double>(n) + eps);
}

/// out = input / sqrt(mean(input^2) + eps) * weight + bias, and inv_rms the reciprocal of the root. Rows without
/// elements have NaN for it, as has a negative mean + eps.
diopiError_t rms_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out, diopiTensorHandle_t inv_rms,
                      diopiConstTensorHandle_t input, diopiSize_t normalized_shape, diopiConstTensorHandle_t weight,
                      diopiConstTensorHandle_t bias, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        const Operand<T> w(weight, "weight?");
        const Operand<T> b(bias, "bias?");
        WriteOnly<T> y(out, "out");
        Output<T> kept(inv_rms, "inv_rms");
        const LayerRows rows(x.shape(), list_of(normalized_shape));
        require_shape("out", y.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(b, "bias", rows);
        require_statistic(kept, "inv_rms", rows);
        for (int64_t r = 0; r < rows.count; ++r) {
            const int64_t first = r * rows.size;
            kept[r] = inverse_rms<T>(rows.size, eps, [&](int64_t i) { return T(x[first + i]); });
            for (int64_t i = 0; i < rows.size; ++i) {
                const T normal = x[first + i] * kept[r] * (w ? T(w[i]) : T(1));
                y[first + i] = b ? normal + b[i] : normal;
            }
        }
        y.store();
        kept.store();
    });
}

/// With r = inv_rms and h = grad_output * weight: grad_input = r * h - x * r^3 * mean(h * x), means over a row;
/// grad_weight and grad_bias are the sums of grad_output * x * r and of grad_output over the rows.
diopiError_t rms_norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                               diopiConstTensorHandle_t inv_rms, diopiSize_t normalized_shape, double) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> x(input, "input");
        const Operand<T> w(weight, "weight?");
        const Operand<T> b(bias, "bias?");
        const Operand<T> kept(inv_rms, "inv_rms");
        WriteOnly<T> gx(grad_input, "grad_input");
        Output<T> gw(grad_weight, "grad_weight?");
        Output<T> gb(grad_bias, "grad_bias?");
        const LayerRows rows(x.shape(), list_of(normalized_shape));
        require_shape("grad_output", g.shape(), x.shape());
        require_shape("grad_input", gx.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(b, "bias", rows);
        require_parameter(gw, "grad_weight", rows);
        require_parameter(gb, "grad_bias", rows);
        require_statistic(kept, "inv_rms", rows);
        std::vector<Sum<T>> weight_sums(static_cast<size_t>(rows.size)), bias_sums(static_cast<size_t>(rows.size));
        for (int64_t r = 0; r < rows.count; ++r) {
            const int64_t first = r * rows.size;
            const auto xhat = [&](int64_t i) { return x[first + i] * kept[r]; };
            const auto h = [&](int64_t i) { return g[first + i] * (w ? T(w[i]) : T(1)); };
            const T mean =
                pairwise_sum<T>(rows.size, [&](int64_t i) { return h(i) * xhat(i); }) / static_cast<double>(rows.size);
            for (int64_t i = 0; i < rows.size; ++i) {
                gx[first + i] = kept[r] * (h(i) - xhat(i) * mean);
                weight_sums[static_cast<size_t>(i)] += g[first + i] * xhat(i);
                bias_sums[static_cast<size_t>(i)] += T(g[first + i]);
            }
        }
        for (int64_t i = 0; i < gw.numel(); ++i) gw[i] = weight_sums[static_cast<size_t>(i)].value();
        for (int64_t i = 0; i < gb.numel(); ++i) gb[i] = bias_sums[static_cast<size_t>(i)].value();
        gx.store();
        gw.store();
        gb.store();
    });
}

/// The sizes (tokens, hidden) of rows that are normalised in place; refuses other shapes.
LayerRows rows_of(ShapeView inoutput) {
    if (inoutput.size() != 2) {
        refuse("inoutput has shape " + to_string(inoutput) + ", wanted (tokens, hidden)");
    }
    return {inoutput, inoutput.last(1)};
}

/// inoutput = inoutput / sqrt(mean(inoutput^2) + eps) * scale
diopiError_t rms_norm_in_place(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inoutput,
                               diopiConstTensorHandle_t scale, float eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> x(inoutput, "inoutput", Output<T>::Start::kOldValues);
        const Operand<T> w(scale, "scale");
        const LayerRows rows = rows_of(x.shape());
        require_parameter(w, "scale", rows);
        for (int64_t r = 0; r < rows.count; ++r) {
            T* row = x.data() + r * rows.size;
            const T factor = inverse_rms<T>(rows.size, static_cast<double>(eps), [&](int64_t i) { return row[i]; });
            for (int64_t i = 0; i < rows.size; ++i) row[i] = row[i] * factor * w[i];
        }
        x.store();
    });
}

/// residual = residual + inoutput + bias; inoutput = residual / sqrt(mean(residual^2) + eps) * scale
diopiError_t add_rms_norm_in_place(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inoutput,
                                   diopiTensorHandle_t residual, diopiConstTensorHandle_t bias,
                                   diopiConstTensorHandle_t scale, float eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> x(inoutput, "inoutput", Output<T>::Start::kOldValues);
        Output<T> total(residual, "residual", Output<T>::Start::kOldValues);
        const Operand<T> b(bias, "bias?");
        const Operand<T> w(scale, "scale");
        const LayerRows rows = rows_of(x.shape());
        require_shape("residual", total.shape(), x.shape());
        require_parameter(b, "bias", rows);
        require_parameter(w, "scale", rows);
        for (int64_t r = 0; r < rows.count; ++r) {
            T *row = x.data() + r * rows.size, *sum = total.data() + r * rows.size;
            for (int64_t i = 0; i < rows.size; ++i) sum[i] = sum[i] + row[i] + (b ? T(b[i]) : T(0));
            const T factor = inverse_rms<T>(rows.size, static_cast<double>(eps), [&](int64_t i) { return sum[i]; });
            for (int64_t i = 0; i < rows.size; ++i) row[i] = sum[i] * factor * w[i];
        }
        x.store();
        total.store();
    });
}

}  // namespace

#include "kernels/entries/attention_norm.inc"

}  // namespace diopi::reference
