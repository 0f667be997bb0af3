/// Sorting. NaN is greater than every number; equal elements keep their order.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/rows_along.hpp"

namespace diopi::reference {

namespace {

bool is_less(double a, double b) { return a < b || (b != b && a == a); }
bool is_less(int64_t a, int64_t b) { return a < b; }

/// values and indices = the first `count` elements of each sorted row; values may be null.
template <class T>
void sort_rows(diopiTensorHandle_t values, diopiTensorHandle_t indices, diopiConstTensorHandle_t input, int64_t dim,
               int64_t count, bool descending) {
    const Operand<T> x(input, "input");
    Output<T> y(values, "values?");
    Output<int64_t> places(indices, "indices");
    const RowsAlong rows(x.shape(), dim);
    if (count < 0 || count > rows.n) {
        refuse("k is " + std::to_string(count) + ", wanted 0 to " + std::to_string(rows.n));
    }
    Shape wanted(x.shape().begin(), x.shape().end());
    if (!wanted.empty()) wanted[static_cast<size_t>(require_dim(dim, x.rank()))] = count;
    if (y) require_shape("values", y.shape(), wanted);
    require_shape("indices", places.shape(), wanted);
    std::vector<int64_t> order(static_cast<size_t>(rows.n));
    for (int64_t r = 0; r < rows.count(); ++r) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            const T u = x[rows.place(r, a)], v = x[rows.place(r, b)];
            return descending ? is_less(v, u) : is_less(u, v);
        });
        for (int64_t k = 0; k < count; ++k) {
            const int64_t to = rows.place(r, k, count), from = order[static_cast<size_t>(k)];
            if (y) y[to] = x[rows.place(r, from)];
            places[to] = from;
        }
    }
    y.store();
    places.store();
}

diopiError_t sorted(diopiTensorHandle_t values, diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                    int64_t dim, const int64_t* count, bool descending) {
    return kernel([&] {
        const View view = view_of(input);
        if (is_complex(view.dtype)) refuse_dtype("input", view.dtype, "a real dtype: complex numbers have no order");
        const int64_t n = count != nullptr ? *count : RowsAlong(view.shape, dim).n;
        if (is_floating(view.dtype)) return sort_rows<double>(values, indices, input, dim, n, descending);
        sort_rows<int64_t>(values, indices, input, dim, n, descending);
    });
}

diopiError_t sort_along(diopiContextHandle_t, std::string_view, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                        diopiConstTensorHandle_t input, int64_t dim, bool descending, const bool*) {
    return sorted(values, indices, input, dim, nullptr, descending);
}

/// dim null: the last one.
diopiError_t argsort(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     bool, const int64_t* dim, bool descending) {
    return sorted(nullptr, out, input, dim == nullptr ? -1 : *dim, nullptr, descending);
}

/// The elements are in order also where that is not wanted.
diopiError_t topk(diopiContextHandle_t, std::string_view, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                  diopiConstTensorHandle_t input, int64_t k, int64_t dim, bool largest, bool) {
    return sorted(values, indices, input, dim, &k, largest);
}

/// grad_input = 0, but grad_output at its indices along dim. Without keepdim, grad_output and indices lack dim.
diopiError_t sort_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, int64_t dim, diopiConstTensorHandle_t indices,
                           diopiSize_t sizes, bool keepdim) {
    return kernel([&] {
        in_kind(view_of(grad_output).dtype, [&](auto zero) {
            using T = decltype(zero);
            const Operand<T> g(grad_output, "grad_output");
            const Operand<int64_t> places(indices, "indices");
            Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
            const RowsAlong rows(gx.shape(), dim);
            require_shape("grad_input", gx.shape(), list_of(sizes));
            require_shape("indices", places.shape(), g.shape());
            Shape wanted(gx.shape().begin(), gx.shape().end());
            int64_t given = 1;
            if (!wanted.empty()) {
                const auto d = static_cast<std::ptrdiff_t>(require_dim(dim, gx.rank()));
                if (keepdim && g.rank() == gx.rank()) given = g.size(d);
                keepdim ? void(wanted[static_cast<size_t>(d)] = given) : void(wanted.erase(wanted.begin() + d));
            }
            require_shape("grad_output", g.shape(), wanted);
            for (int64_t r = 0; r < rows.count(); ++r) {
                for (int64_t k = 0; k < given; ++k) {
                    const int64_t from = rows.place(r, k, given), to = places[from];
                    if (to < 0 || to >= rows.n) {
                        refuse("indices holds " + std::to_string(to) + ", wanted 0 to " + std::to_string(rows.n - 1));
                    }
                    gx[rows.place(r, to)] = g[from];
                }
            }
            gx.store();
        });
    });
}

}  // namespace

#include "kernels/entries/sort.inc"

}  // namespace diopi::reference
