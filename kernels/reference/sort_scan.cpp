/// Running sums along a dimension.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/rows_along.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// A sum that knows its rounding errors, and one that wraps.
template <class T>
struct RunningSum {
    Sum<double> sum;
    void add(T x) { sum += x; }
    [[nodiscard]] T value() const { return sum.value(); }
};
template <>
struct RunningSum<int64_t> {
    uint64_t sum = 0;
    void add(int64_t x) { sum += static_cast<uint64_t>(x); }
    [[nodiscard]] int64_t value() const { return static_cast<int64_t>(sum); }
};
template <>
struct RunningSum<Complex> {
    Sum<double> real, imag;
    void add(Complex x) {
        real += x.real();
        imag += x.imag();
    }
    [[nodiscard]] Complex value() const { return {real.value(), imag.value()}; }
};

/// out[k] = the sum of input[0] to input[k], or, backward, of input[k] to the last one, along dim.
template <class T, class From>
void running_sums(diopiTensorHandle_t out, diopiConstTensorHandle_t input, int64_t dim, bool backward) {
    const Operand<From> x(input, "input");
    Output<T> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    const RowsAlong rows(x.shape(), dim);
    for (int64_t r = 0; r < rows.count(); ++r) {
        RunningSum<T> sum;
        for (int64_t i = 0; i < rows.n; ++i) {
            const int64_t at = rows.place(r, backward ? rows.n - 1 - i : i);
            sum.add(static_cast<T>(x[at]));
            y[at] = sum.value();
        }
    }
    y.store();
}

/// Elements are converted to the dtype of out first.
diopiError_t running(diopiTensorHandle_t out, diopiConstTensorHandle_t input, int64_t dim, bool backward) {
    return kernel([&] {
        const Kind from = kind_of(view_of(input).dtype), to = kind_of(view_of(out).dtype);
        if (to == Kind::kComplex) return running_sums<Complex, Complex>(out, input, dim, backward);
        if (from == Kind::kComplex) refuse_dtype("input", view_of(input).dtype, "a real dtype for a real out");
        if (to == Kind::kFloating) return running_sums<double, double>(out, input, dim, backward);
        if (from == Kind::kFloating) return running_sums<int64_t, double>(out, input, dim, backward);
        running_sums<int64_t, int64_t>(out, input, dim, backward);
    });
}

diopiError_t cumsum(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    int64_t dim) {
    return running(out, input, dim, false);
}

diopiError_t cumsum_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, int64_t dim) {
    return running(grad_input, grad_output, dim, true);
}

}  // namespace

#include "kernels/entries/sort_scan.inc"

}  // namespace diopi::reference
