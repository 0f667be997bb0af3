/// Softmax and its logarithm: rows when the dimension is the last one, else columns of a few vectors side by side.
#include "kernels/cpu/activation_softmax.hpp"

#include <cmath>
#include <limits>

#include "kernels/cpu/gemm_vector.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cpu {

namespace {

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// The maximum of a row; a NaN in it may be missed, and then shows in the sum.
template <class T>
T row_max(const T* x, int64_t n) {
    Vector<T> best[2] = {spread(kLowest<T>), spread(kLowest<T>)};
    int64_t i = 0;
    for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
        best[0] = max(best[0], load(x + i));
        best[1] = max(best[1], load(x + i + kLanes<T>));
    }
    alignas(32) T lanes[kLanes<T>];
    store(lanes, max(best[0], best[1]));
    T most = kLowest<T>;
    for (const T lane : lanes) most = lane > most ? lane : most;
    for (; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

template <class T>
void softmax_row(const T* x, T* out, int64_t n, bool logarithm) {
    const T most = row_max(x, n);
    const Vector<T> base = spread(most);
    const double sum = sum_of<T>(n, [&](int64_t i, int64_t count) {
        const Vector<T> e = exp(load_up_to(x + i, count, kLowest<T>) - base);
        if (count == kLanes<T>) {
            if (!logarithm) store(out + i, e);
            return e;
        }
        if (!logarithm) store_part(out + i, e, count);
        // With a maximum of -inf the missing lanes hold NaN.
        alignas(32) T lanes[kLanes<T>] = {};
        store_part(lanes, e, count);
        return load(lanes);
    });
    if (logarithm) {
        const T shift = static_cast<T>(std::log(sum));
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - most) - shift;
    } else {
        const T scale = static_cast<T>(1 / sum);
        for (int64_t i = 0; i < n; ++i) out[i] *= scale;
    }
}

/// Columns that one pass handles together.
constexpr int64_t kColumns = 64;

/// `n` <= kColumns neighbouring columns.
template <class T>
void softmax_columns(const T* x, T* out, int64_t size, int64_t stride, int64_t n, bool logarithm) {
    alignas(32) T most[kColumns], sum[kColumns];
    std::fill_n(most, n, kLowest<T>);
    std::fill_n(sum, n, T{0});
    for (int64_t k = 0; k < size; ++k) {
        const T* row = x + k * stride;
        for (int64_t j = 0; j < n; ++j) most[j] = row[j] > most[j] ? row[j] : most[j];
    }
    const int64_t whole = n / kLanes<T> * kLanes<T>;
    for (int64_t k = 0; k < size; ++k) {
        const T* row = x + k * stride;
        T* to = out + k * stride;
        const auto step = [&](int64_t j, Vector<T> e) { store(sum + j, load(sum + j) + e); };
        for (int64_t j = 0; j < whole; j += kLanes<T>) {
            const Vector<T> e = exp(load(row + j) - load(most + j));
            step(j, e);
            if (!logarithm) store(to + j, e);
        }
        if (whole < n) {
            const Vector<T> e = exp(load_part(row + whole, n - whole, T{0}) - load_part(most + whole, n - whole, T{0}));
            if (!logarithm) store_part(to + whole, e, n - whole);
            store_part(sum + whole, load_part(sum + whole, n - whole, T{0}) + e, n - whole);
        }
    }
    for (int64_t j = 0; j < n; ++j) sum[j] = logarithm ? std::log(sum[j]) : 1 / sum[j];
    for (int64_t k = 0; k < size; ++k) {
        const T* row = x + k * stride;
        T* to = out + k * stride;
        if (logarithm) {
            for (int64_t j = 0; j < n; ++j) to[j] = (row[j] - most[j]) - sum[j];
        } else {
            for (int64_t j = 0; j < n; ++j) to[j] *= sum[j];
        }
    }
}

/// Calls body(first element, number of columns) for every block of columns.
template <class Body>
void for_each_block(const SoftmaxShape& s, Body&& body) {
    const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
    parallel_for(s.outer * blocks, s.size * std::min(s.inner, kColumns) * 4, [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            const int64_t column = at % blocks * kColumns;
            body(at / blocks * s.size * s.inner + column, std::min(kColumns, s.inner - column));
        }
    });
}

/// grad = y * (g - sum(g * y)), or g - exp(y) * sum(g) when y is the logarithm.
template <class T>
void gradient_row(const T* g, const T* y, T* grad, int64_t n, bool logarithm) {
    const T sum = static_cast<T>(sum_of<T>(n, [&](int64_t i, int64_t count) {
        const Vector<T> terms = load_up_to(g + i, count);
        return logarithm ? terms : terms * load_up_to(y + i, count);
    }));
    if (!logarithm) {
        for (int64_t i = 0; i < n; ++i) grad[i] = y[i] * (g[i] - sum);
        return;
    }
    int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(grad + i, load(g + i) - exp(load(y + i)) * spread(sum));
    if (i < n) {
        store_part(grad + i, load_part(g + i, n - i, T{0}) - exp(load_part(y + i, n - i, T{0})) * spread(sum), n - i);
    }
}

template <class T>
void gradient_columns(const T* g, const T* y, T* grad, int64_t size, int64_t stride, int64_t n, bool logarithm) {
    alignas(32) T sum[kColumns] = {};
    for (int64_t k = 0; k < size; ++k) {
        const T *from = g + k * stride, *result = y + k * stride;
        if (logarithm) {
            for (int64_t j = 0; j < n; ++j) sum[j] += from[j];
        } else {
            for (int64_t j = 0; j < n; ++j) sum[j] += from[j] * result[j];
        }
    }
    for (int64_t k = 0; k < size; ++k) {
        const T *from = g + k * stride, *result = y + k * stride;
        T* to = grad + k * stride;
        if (!logarithm) {
            for (int64_t j = 0; j < n; ++j) to[j] = result[j] * (from[j] - sum[j]);
            continue;
        }
        int64_t j = 0;
        for (; j + kLanes<T> <= n; j += kLanes<T>) {
            store(to + j, load(from + j) - exp(load(result + j)) * load(sum + j));
        }
        if (j < n) {
            const Vector<T> e = exp(load_part(result + j, n - j, T{0}));
            store_part(to + j, load_part(from + j, n - j, T{0}) - e * load_part(sum + j, n - j, T{0}), n - j);
        }
    }
}

/// The rows of a tensor along its dimension `dim`; a 0-dim tensor has one element.
SoftmaxShape shape_along(const View& x, int64_t dim) {
    if (x.rank() == 0) return {};
    const auto d = static_cast<size_t>(dim);
    return {numel(x.shape.subspan(0, d)), x.shape[d], numel(x.shape.subspan(d + 1))};
}

template <class T>
diopiError_t run_forward(diopiContextHandle_t ctx, const SoftmaxShape& shape, const View& out, const View& input,
                         bool logarithm) {
    Staging staging(ctx);
    const auto* x = staging.in<T>(input);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    softmax(shape, x, y, logarithm);
    return staging.finish();
}

template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    const View x = view(input), y = view(out);
    if (const diopiError_t error = read_softmax(op, x, y, dim); error != diopiSuccess) return error;
    if (x.numel == 0) return diopiSuccess;
    const bool wide = x.dtype == Dtype::float64 || y.dtype == Dtype::float64;
    return (wide ? run_forward<double> : run_forward<float>)(ctx, shape_along(x, dim), y, x, kLogarithm);
}

template <class T>
diopiError_t run_backward(diopiContextHandle_t ctx, const SoftmaxShape& s, const View& grad_input,
                          const View& grad_output, const View& output, bool logarithm) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    const auto* y = staging.in<T>(output);
    auto* grad = staging.out<T>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    if (s.inner == 1) {
        parallel_for(s.outer, s.size, [&](int64_t first, int64_t last) {
            for (int64_t row = first; row < last; ++row) {
                const int64_t at = row * s.size;
                gradient_row(g + at, y + at, grad + at, s.size, logarithm);
            }
        });
    } else {
        for_each_block(s, [&](int64_t at, int64_t columns) {
            gradient_columns(g + at, y + at, grad + at, s.size, s.inner, columns, logarithm);
        });
    }
    return staging.finish();
}

template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    const View g = view(grad_output), y = view(output), grad = view(grad_input);
    if (const diopiError_t error = read_softmax_gradient(op, g, y, grad, dim); error != diopiSuccess) return error;
    if (y.numel == 0) return diopiSuccess;
    const bool wide = y.dtype == Dtype::float64 || g.dtype == Dtype::float64;
    return (wide ? run_backward<double> : run_backward<float>)(ctx, shape_along(y, dim), grad, g, y, kLogarithm);
}

}  // namespace

template <class T>
void softmax(const SoftmaxShape& s, const T* x, T* out, bool logarithm) {
    if (s.numel() == 0) return;
    if (s.inner > 1) {
        for_each_block(s, [&](int64_t at, int64_t columns) {
            softmax_columns(x + at, out + at, s.size, s.inner, columns, logarithm);
        });
        return;
    }
    parallel_for(s.outer, s.size * 4, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row)
            softmax_row(x + row * s.size, out + row * s.size, s.size, logarithm);
    });
}
template void softmax(const SoftmaxShape& shape, const float* x, float* out, bool logarithm);
template void softmax(const SoftmaxShape& shape, const double* x, double* out, bool logarithm);

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::cpu
