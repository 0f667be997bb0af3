/// Reductions over some dimensions.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// Which dimensions a reduction takes away; an empty list means all.
std::vector<bool> reduced_dims(ShapeView shape, ShapeView dims) {
    const auto rank = static_cast<int64_t>(shape.size());
    std::vector<bool> reduced(shape.size(), dims.empty());
    for (const int64_t argument : dims) {
        const auto d = static_cast<size_t>(require_dim(argument, rank));
        if (rank == 0) continue;
        if (reduced[d]) refuse("dim names dimension " + std::to_string(d) + " twice");
        reduced[d] = true;
    }
    return reduced;
}

/// Refuses an out that is neither the shape without the reduced dimensions nor the one with 1 in their place; (1,) will
/// do for ().
void require_reduced_shape(ShapeView out, ShapeView shape, const std::vector<bool>& reduced) {
    Shape kept;
    Shape dropped;
    for (size_t d = 0; d < shape.size(); ++d) {
        kept.push_back(reduced[d] ? 1 : shape[d]);
        if (!reduced[d]) dropped.push_back(shape[d]);
    }
    if (same_shape(out, kept) || same_shape(out, dropped)) return;
    if (dropped.empty() && same_shape(out, Shape{1})) return;
    refuse("out has shape " + to_string(out) + ", wanted " + to_string(dropped) + " or " + to_string(kept));
}

/// Strides of out as seen from the input: 0 along reduced dimensions.
Shape reduced_strides(ShapeView shape, const std::vector<bool>& reduced) {
    Shape strides(shape.size(), 0);
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        if (reduced[d]) continue;
        strides[d] = step;
        step *= shape[d];
    }
    return strides;
}

int64_t wrap_add(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
double wrap_add(double a, double b) { return a + b; }
Complex wrap_add(Complex a, Complex b) { return a + b; }

template <class T>
T row_sum(const T* x, int64_t n) {
    return pairwise_sum<T>(n, [=](int64_t i) { return x[i]; });
}
/// Unsigned inside: an overflow of int64 wraps.
template <>
int64_t row_sum(const int64_t* x, int64_t n) {
    return static_cast<int64_t>(pairwise_sum<uint64_t>(n, [=](int64_t i) { return static_cast<uint64_t>(x[i]); }));
}

/// out = sum of input over dims; over no elements 0.
template <class T>
void sum(Output<T>& y, diopiConstTensorHandle_t input, ShapeView dims) {
    const Operand<T> x(input, "input");
    const std::vector<bool> reduced = reduced_dims(x.shape(), dims);
    require_reduced_shape(y.shape(), x.shape(), reduced);
    const Shape dense = contiguous_strides(x.shape());
    const Shape strides = reduced_strides(x.shape(), reduced);
    const Rows<2> rows(x.shape(), {ShapeView(dense), ShapeView(strides)});
    const int64_t n = rows.length();
    const bool along_row = rows.step()[1] == 0;
    rows.for_each([&](const Rows<2>::Offsets& at) {
        const T* __restrict from = x.data() + at[0];
        T* __restrict to = y.data() + at[1];
        if (along_row) {
            *to = wrap_add(*to, row_sum(from, n));
        } else {
            for (int64_t i = 0; i < n; ++i) to[i] = wrap_add(to[i], from[i]);
        }
    });
}

template <class T>
void sum_into(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims) {
    Output<T> y(out, "out", Output<T>::Start::kZero);
    sum(y, input, dims);
    y.store();
}

/// out = sum / number of elements joined: NaN over none.
template <class T>
void mean_into(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims) {
    Output<T> y(out, "out", Output<T>::Start::kZero);
    sum(y, input, dims);
    const View view = view_of(input);
    const std::vector<bool> reduced = reduced_dims(view.shape, dims);
    double joined = 1.0;
    for (size_t d = 0; d < reduced.size(); ++d) joined *= reduced[d] ? static_cast<double>(view.shape[d]) : 1.0;
    for (int64_t i = 0; i < y.numel(); ++i) y[i] /= joined;
    y.store();
}

bool is_nan(double x) { return x != x; }
bool is_nan(int64_t) { return false; }

/// out = index of the first element that none along dim exceeds; the first NaN if there is one. The input is taken as
/// (outer, n, inner).
template <class T>
void argmax(Output<int64_t>& y, diopiConstTensorHandle_t input, int64_t outer, int64_t n, int64_t inner) {
    const Operand<T> x(input, "input");
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            const T* column = x.data() + o * n * inner + i;
            int64_t best = 0;
            for (int64_t k = 1; k < n && !is_nan(column[best * inner]); ++k) {
                const T value = column[k * inner];
                if (value > column[best * inner] || is_nan(value)) best = k;
            }
            y[o * inner + i] = best;
        }
    }
}

}  // namespace

diopiError_t diopiSum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return sum_into<Complex>(out, input, list_of(dim));
            case Kind::kFloating:
                return sum_into<double>(out, input, list_of(dim));
            case Kind::kInteger:
            case Kind::kBool:
                return sum_into<int64_t>(out, input, list_of(dim));
        }
    });
}

diopiError_t diopiMean(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim) {
    return kernel([&] {
        if (kind_of(view_of(input).dtype) == Kind::kComplex) return mean_into<Complex>(out, input, list_of(dim));
        mean_into<double>(out, input, list_of(dim));
    });
}

diopiError_t diopiArgmax(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         const int64_t* dim, bool) {
    return kernel([&] {
        const View view = view_of(input);
        Output<int64_t> y(out, "out");
        int64_t outer = 1;
        int64_t n = view.numel;
        int64_t inner = 1;
        std::vector<bool> reduced(view.shape.size(), true);
        if (dim != nullptr && !view.shape.empty()) {
            const auto d = static_cast<size_t>(require_dim(*dim, static_cast<int64_t>(view.shape.size())));
            reduced.assign(reduced.size(), false);
            reduced[d] = true;
            outer = numel(view.shape.first(d));
            n = view.shape[d];
            inner = numel(view.shape.subspan(d + 1));
        }
        require_reduced_shape(y.shape(), view.shape, reduced);
        if (n == 0 && y.numel() > 0) refuse("input has shape " + to_string(view.shape) + ", wanted elements along dim");
        switch (kind_of(view.dtype)) {
            case Kind::kComplex:
                refuse_dtype("input", view.dtype, "a real dtype");
            case Kind::kFloating:
                argmax<double>(y, input, outer, n, inner);
                break;
            case Kind::kInteger:
            case Kind::kBool:
                argmax<int64_t>(y, input, outer, n, inner);
                break;
        }
        y.store();
    });
}

}  // namespace diopi::reference
