/// Distinct elements. NaN is greater than every number, and differs from itself.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"
#include "kernels/reference/rows_along.hpp"

namespace diopi::reference {

namespace {

/// The slices of a tensor along a dim, as rows of elements; without a dim, its elements.
template <class T>
class Slices {
 public:
    Slices(const Operand<T>& x, const int64_t* dim) : x_(x) {
        if (dim == nullptr) {
            rows_.n = x.numel();
            return;
        }
        if (x.rank() == 0) refuse("dim is " + std::to_string(*dim) + ", but input has no dimension");
        rows_ = RowsAlong(x.shape(), *dim);
        if (rows_.count() == 0) refuse("input has slices without elements along dim " + std::to_string(*dim));
    }
    [[nodiscard]] int64_t count() const { return rows_.n; }
    [[nodiscard]] int64_t length() const { return rows_.count(); }
    [[nodiscard]] const T& at(int64_t slice, int64_t i) const { return x_[rows_.place(i, slice)]; }
    /// The place of element i of a slice in a tensor of `size` slices.
    [[nodiscard]] int64_t place(int64_t slice, int64_t i, int64_t size) const { return rows_.place(i, slice, size); }

    [[nodiscard]] bool is_less(int64_t a, int64_t b) const {
        for (int64_t i = 0; i < length(); ++i) {
            const T u = at(a, i), v = at(b, i);
            if (u < v || (v != v && u == u)) return true;
            if (v < u || (u != u && v == v)) return false;
        }
        return false;
    }
    [[nodiscard]] bool equal(int64_t a, int64_t b) const {
        for (int64_t i = 0; i < length(); ++i) {
            if (at(a, i) != at(b, i)) return false;
        }
        return true;
    }

 private:
    const Operand<T>& x_;
    RowsAlong rows_ = RowsAlong({}, 0);
};

/// out = the distinct slices in rising order, indices[k] = the place of slice k in out, counts[j] = the number of
/// slices that are out[j].
template <class T>
void unique_of(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input, const int64_t* dim,
               diopiTensorHandle_t indices, diopiTensorHandle_t* counts) {
    const Operand<T> x(input, "input");
    const Slices<T> slices(x, dim);
    const Shape shape(x.shape().begin(), x.shape().end()), all = {slices.count()};
    Output<int64_t> places(indices, "indices?");
    if (places) require_shape("indices", places.shape(), dim == nullptr ? shape : all);
    std::vector<int64_t> order(static_cast<size_t>(slices.count())), firsts, numbers;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slices.is_less(a, b); });
    for (const int64_t k : order) {
        if (firsts.empty() || !slices.equal(firsts.back(), k)) {
            firsts.push_back(k);
            numbers.push_back(0);
        }
        ++numbers.back();
        if (places) places[k] = std::ssize(firsts) - 1;
    }
    places.store();
    const auto found = std::ssize(firsts);
    Shape wanted = {found};
    if (dim != nullptr) {
        wanted = shape;
        wanted[static_cast<size_t>(require_dim(*dim, x.rank()))] = found;
    }
    const diopiTensorHandle_t made = make_output(ctx, wanted, view_of(input).dtype);
    Output<T> y(made, "out");
    for (int64_t j = 0; j < found; ++j) {
        for (int64_t i = 0; i < slices.length(); ++i) {
            y[slices.place(j, i, found)] = slices.at(firsts[static_cast<size_t>(j)], i);
        }
    }
    y.store();
    if (counts != nullptr) {
        const diopiTensorHandle_t made_counts = make_output(ctx, Shape{found}, Dtype::int64);
        Output<int64_t> n(made_counts, "counts");
        std::copy(numbers.begin(), numbers.end(), n.data());
        n.store();
        *counts = made_counts;
    }
    *out = made;
}

/// The order is also rising where it need not be.
diopiError_t unique(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out,
                    diopiConstTensorHandle_t input, const int64_t* dim, bool, bool return_counts,
                    diopiTensorHandle_t indices, diopiTensorHandle_t* counts) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        if (is_complex(dtype)) refuse_dtype("input", dtype, "a real dtype: complex numbers have no order");
        if (return_counts && counts == nullptr) refuse("counts is null, wanted a pointer for return_counts");
        diopiTensorHandle_t* wanted = return_counts ? counts : nullptr;
        if (is_floating(dtype)) return unique_of<double>(ctx, out, input, dim, indices, wanted);
        unique_of<int64_t>(ctx, out, input, dim, indices, wanted);
    });
}

}  // namespace

#include "kernels/entries/sort_unique.inc"

}  // namespace diopi::reference
