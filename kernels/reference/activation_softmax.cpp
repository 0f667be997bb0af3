/// softmax, its logarithm and their gradients.
#include "kernels/reference/activation_softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/instruction_sets.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/exponentials.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/rows_along.hpp"

namespace diopi::reference {

namespace {

/// Neighbouring columns that are computed together, so that memory is read in its order: few enough for their part of
/// the tensor to stay in a cache from one pass to the next.
constexpr int64_t kColumns = 512;

/// Room for neighbouring columns, and for a block of rows of theirs.
template <class T>
struct Columns {
    explicit Columns(int64_t width)
        : greatest(static_cast<size_t>(width)), total(greatest.size()), sum(greatest.size()) {}

    std::vector<T> greatest, total;
    Sums<T> sum;
    std::array<T, Exponentials::kBlock> block;
};

/// Columns side by side, each of n elements: the first element of the first one is at `start`. The compiler knows that
/// a column without others beside it lies in one piece.
template <bool kAlone>
struct Group {
    int64_t start = 0, given_count = 1, n = 0, given_inner = 1;

    [[nodiscard]] int64_t count() const { return kAlone ? 1 : given_count; }
    /// The offset of the first element of a row.
    [[nodiscard]] int64_t row(int64_t k) const { return start + k * (kAlone ? 1 : given_inner); }
};

template <bool kAlone, class T, class Run>
void for_each_group_of(const RowsAlong& at, const Run& run) {
    Columns<T> columns(std::min(kColumns, at.inner));
    for (int64_t o = 0; o < at.outer; ++o) {
        for (int64_t first = 0; first < at.inner; first += kColumns) {
            const int64_t start = o * at.n * at.inner + first;
            run(Group<kAlone>{start, std::min(kColumns, at.inner - first), at.n, at.inner}, columns);
        }
    }
}

/// Calls run(group, columns) for groups of columns along dim.
template <class T, class Run>
void for_each_group(const RowsAlong& at, const Run& run) {
    at.inner == 1 ? for_each_group_of<true, T>(at, run) : for_each_group_of<false, T>(at, run);
}

/// Calls visit(number of the first row, number of rows) for blocks of n rows of `count` columns.
template <class Visit>
void for_each_block(int64_t n, int64_t count, Visit&& visit) {
    const int64_t rows = Exponentials::kBlock / count;
    for (int64_t k = 0; k < n; k += rows) visit(k, std::min(rows, n - k));
}

/// softmax or its logarithm. A column of -inf, or with +inf or NaN, gives NaN by arithmetic alone.
template <bool kLogarithm, bool kAlone, class T, class To>
void softmax_of_group(const double* x, To& y, const Group<kAlone>& at, const Exponentials& take_powers,
                      Columns<T>& columns) {
    using std::log;
    const int64_t count = at.count();
    T* __restrict m = columns.greatest.data();
    std::fill_n(m, count, T(-std::numeric_limits<double>::infinity()));
    for (int64_t k = 0; k < at.n; ++k) {
        const double* row = x + at.row(k);
        for (int64_t i = 0; i < count; ++i) m[i] = row[i] > m[i] ? T(row[i]) : m[i];
    }
    columns.sum.clear();
    T* __restrict block = columns.block.data();
    for_each_block(at.n, count, [&](int64_t first, int64_t rows) {
        for (int64_t k = 0; k < rows; ++k) {
            const double* row = x + at.row(first + k);
            for (int64_t i = 0; i < count; ++i) block[k * count + i] = row[i] - m[i];
        }
        take_powers(block, rows * count);
        columns.sum.add_rows(rows, count, [&](int64_t k, int64_t i) { return block[k * count + i]; });
        if constexpr (!kLogarithm) {
            for (int64_t k = 0; k < rows; ++k) std::copy_n(block + k * count, count, &y[at.row(first + k)]);
        }
    });
    T* __restrict total = columns.total.data();
    for (int64_t i = 0; i < count; ++i) total[i] = kLogarithm ? log(columns.sum.value(i)) : columns.sum.value(i);
    for (int64_t k = 0; k < at.n; ++k) {
        const int64_t row = at.row(k);
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
            if constexpr (kLogarithm) {
                y[row + i] = x[row + i] - m[i] - total[i];
            } else {
                y[row + i] /= total[i];
            }
        }
    }
}

template <bool kLogarithm, class T, class To>
void softmax_of(const double* x, To& y, const RowsAlong& at, const Exponentials& take_powers) {
    for_each_group<T>(at, [&]<bool kAlone>(const Group<kAlone>& group, Columns<T>& columns) {
        best<softmax_of_group<kLogarithm, kAlone, T, To>>()(x, y, group, take_powers, columns);
    });
}

template <bool kLogarithm, bool kAlone, class T>
void gradient_of_group(const Operand<T>& g, const Operand<T>& y, WriteOnly<T>& gx, const Group<kAlone>& at,
                       const Exponentials& take_powers, Columns<T>& columns) {
    const int64_t count = at.count();
    columns.sum.clear();
    columns.sum.add_rows(at.n, count, [&](int64_t k, int64_t i) {
        const int64_t e = at.row(k) + i;
        return kLogarithm ? T(g[e]) : T(g[e]) * y[e];
    });
    T* __restrict total = columns.total.data();
    for (int64_t i = 0; i < count; ++i) total[i] = columns.sum.value(i);
    T* __restrict block = columns.block.data();
    for_each_block(at.n, count, [&](int64_t first, int64_t rows) {
        for (int64_t k = 0; k < rows; ++k) std::copy_n(y.data() + at.row(first + k), count, block + k * count);
        if (kLogarithm) take_powers(block, rows * count);
        for (int64_t k = 0; k < rows; ++k) {
            const int64_t row = at.row(first + k);
            const T* share = block + k * count;
#pragma GCC ivdep
            for (int64_t i = 0; i < count; ++i) {
                gx[row + i] = kLogarithm ? g[row + i] - share[i] * total[i] : share[i] * (g[row + i] - total[i]);
            }
        }
    });
}

template <bool kLogarithm, class T>
void gradient_of(const Operand<T>& g, const Operand<T>& y, WriteOnly<T>& gx, const RowsAlong& at,
                 const Exponentials& take_powers) {
    for_each_group<T>(at, [&]<bool kAlone>(const Group<kAlone>& group, Columns<T>& columns) {
        best<gradient_of_group<kLogarithm, kAlone, T>>()(g, y, gx, group, take_powers, columns);
    });
}

template <class T>
void log_softmax_of(const double* x, T* y, const Shape& shape, const Exponentials& take_powers) {
    softmax_of<true, T>(x, y, RowsAlong(shape, 1), take_powers);
}

}  // namespace

void log_softmax(const double* x, double* y, int64_t outer, int64_t n, int64_t inner, const Exponentials& take_powers) {
    log_softmax_of(x, y, {outer, n, inner}, take_powers);
}
void log_softmax(const double* x, Inexact* y, int64_t outer, int64_t n, int64_t inner,
                 const Exponentials& take_powers) {
    log_softmax_of(x, y, {outer, n, inner}, take_powers);
}

namespace {

/// out = exp(x - m) / sum(exp(x - m)) along dim, m the maximum; its logarithm is x - m - log(sum(exp(x - m))). An empty
/// dim leaves nothing to do.
template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        std::conditional_t<kLogarithm, WriteOnly<T>, Output<T>> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        softmax_of<kLogarithm, T>(x.data(), y, RowsAlong(x.shape(), dim), Exponentials(*ctx));
        y.store();
    });
}

/// grad_input = y * (g - sum(g * y)); for the logarithm g - exp(y) * sum(g).
template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> y(output, "output");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), y.shape());
        require_shape("grad_input", gx.shape(), y.shape());
        gradient_of<kLogarithm, T>(g, y, gx, RowsAlong(y.shape(), dim), Exponentials(*ctx));
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::reference
