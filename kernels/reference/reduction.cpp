/// Sums and means over some dimensions.
#include <type_traits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// The strides of out along the dimensions of the input: 0 along reduced ones.
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
/// Sums are formed without a sign: an overflow of int64 wraps.
template <>
int64_t row_sum(const int64_t* x, int64_t n) {
    return static_cast<int64_t>(pairwise_sum<uint64_t>(n, [=](int64_t i) { return static_cast<uint64_t>(x[i]); }));
}

/// y += sum of input over dims.
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

/// out = sum of input over dims, 0 over no elements; kMean: divided by the number of elements, NaN over none.
template <bool kMean, class T>
void sum_into(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims) {
    Output<T> y(out, "out", Output<T>::Start::kZero);
    sum(y, input, dims);
    if constexpr (kMean) {
        const ShapeView shape = view_of(input).shape;
        const std::vector<bool> reduced = reduced_dims(shape, dims);
        double count = 1.0;
        for (size_t d = 0; d < reduced.size(); ++d) count *= reduced[d] ? static_cast<double>(shape[d]) : 1.0;
        for (int64_t i = 0; i < y.numel(); ++i) y[i] /= count;
    }
    y.store();
}

template <bool kMean>
diopiError_t sum_along(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dim) {
    return kernel([&] {
        switch (kind_of(view_of(input).dtype)) {
            case Kind::kComplex:
                return sum_into<kMean, Complex>(out, input, list_of(dim));
            case Kind::kFloating:
                return sum_into<kMean, double>(out, input, list_of(dim));
            case Kind::kInteger:
            case Kind::kBool:
                return sum_into<kMean, std::conditional_t<kMean, double, int64_t>>(out, input, list_of(dim));
        }
    });
}

}  // namespace

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

Groups::Groups(ShapeView shape, const std::vector<bool>& reduced) : kept_{0}, joined_{0} {
    const Shape strides = contiguous_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
        std::vector<int64_t>& places = reduced[d] ? joined_ : kept_;
        std::vector<int64_t> more;
        more.reserve(places.size() * static_cast<size_t>(shape[d]));
        for (const int64_t place : places) {
            for (int64_t i = 0; i < shape[d]; ++i) more.push_back(place + i * strides[d]);
        }
        places = std::move(more);
    }
}

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

#include "kernels/entries/reduction.inc"

}  // namespace diopi::reference
