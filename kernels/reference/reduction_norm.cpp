/// Standard deviations, products and norms.
#include <cmath>

#include "core/half.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction.hpp"
#include "kernels/reference/reduction_norm.hpp"

namespace diopi::reference {

namespace {

/// out[r] = result(groups, r) for each result of a reduction of input over dims.
template <class T, class Result>
void reduce(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims, const Result& result) {
    const ShapeView shape = view_of(input).shape;
    const std::vector<bool> reduced = reduced_dims(shape, dims);
    const Groups groups(shape, reduced);
    WriteOnly<T> y(out, "out");
    require_reduced_shape(y.shape(), shape, reduced);
    for (int64_t r = 0; r < groups.results(); ++r) y[r] = result(groups, r);
    y.store();
}

/// sqrt(sum((x - mean)^2) / max(n - correction, 0)); a divisor of 0 gives NaN, or infinity where the sum is not 0.
diopiError_t deviation(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dim, const diopiScalar_t* correction) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::sqrt;
        require_floating(input);
        const Operand<T> x(input, "input");
        const double bessel = correction == nullptr ? 1 : scalar_as<double>(*correction);
        reduce<T>(out, input, list_of(dim), [&](const Groups& groups, int64_t r) -> T {
            const int64_t n = groups.size();
            const auto at = [&](int64_t k) { return T(x[groups.place(r, k)]); };
            const T mean = n == 0 ? T(0) : pairwise_sum<T>(n, at) / static_cast<double>(n);
            const T squares = pairwise_sum<T>(n, [&](int64_t k) { return (at(k) - mean) * (at(k) - mean); });
            const double divisor = std::fmax(static_cast<double>(n) - bessel, 0);
            if (divisor == 0) return squares > T(0) ? T(kInfinity) : T(std::nan(""));
            return sqrt(squares / divisor);
        });
    });
}

// ---- products ----

/// The values of input converted to `dtype`, as a conversion of the tensor does: rounded once, or cut off and wrapped.
std::vector<double> converted(diopiConstTensorHandle_t input, Dtype dtype) {
    const Operand<double> x(input, "input");
    const Format format = format_of(dtype);
    std::vector<double> values(static_cast<size_t>(x.numel()));
    for (int64_t i = 0; i < x.numel(); ++i) {
        values[static_cast<size_t>(i)] =
            round_to_precision(x[i], format.significand, format.min_exponent, format.largest);
    }
    return values;
}
std::vector<int64_t> converted_to_integers(diopiConstTensorHandle_t input, Dtype dtype) {
    const auto as = [dtype](int64_t x) { return dtype == Dtype::boolean ? x != 0 : wrap_integer(x, dtype); };
    std::vector<int64_t> values;
    if (kind_of(view_of(input).dtype) == Kind::kFloating) {
        const Operand<double> x(input, "input");
        for (int64_t i = 0; i < x.numel(); ++i) {
            const bool is_true = dtype == Dtype::boolean && x[i] != 0;
            values.push_back(is_true ? 1 : std::fabs(x[i]) < 0x1p63 ? as(static_cast<int64_t>(x[i])) : 0);
        }
    } else {
        const Operand<int64_t> x(input, "input");
        for (int64_t i = 0; i < x.numel(); ++i) values.push_back(as(x[i]));
    }
    return values;
}

/// Whether some order of multiplications may leave the range of the working format though the product is inside.
template <class At>
bool may_leave_range(int64_t n, const At& at) {
    double above = 0, below = 0;  // logarithms of the products of the factors above and below 1
    for (int64_t k = 0; k < n; ++k) {
        const double size = std::fabs(at(k));
        if (size > 1) above += std::log2(size);
        if (size < 1 && size > 0) below += std::log2(size);
    }
    const double highest = std::log2(working_format.largest), lowest = std::log2(working_format.least);
    return above >= highest || (below <= lowest && above > 0);
}

/// No product of some of the factors overflows or underflows.
double product_of(double, const Groups& groups, int64_t r, const std::vector<double>& x) {
    double product = 1;
    int64_t exponent = 0;
    const auto without_exponent = [&](double x) {
        int moved = 0;
        const double fraction = std::frexp(x, &moved);
        exponent += moved;
        return fraction;
    };
    for (int64_t k = 0; k < groups.size(); ++k) {
        product = without_exponent(product * without_exponent(x[static_cast<size_t>(groups.place(r, k))]));
    }
    return std::ldexp(product, static_cast<int>(std::clamp<int64_t>(exponent, -10'000, 10'000)));
}
Inexact product_of(Inexact, const Groups& groups, int64_t r, const std::vector<double>& x) {
    const auto at = [&](int64_t k) { return x[static_cast<size_t>(groups.place(r, k))]; };
    if (may_leave_range(groups.size(), at)) return {product_of(double(), groups, r, x), kInfinity};
    Inexact product = 1.0;
    for (int64_t k = 0; k < groups.size(); ++k) product *= Inexact(at(k));
    return product;
}

/// input is converted to the dtype of out first; dim null: over all elements.
diopiError_t product(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const int64_t* dim) {
    const ShapeView dims = dim == nullptr ? ShapeView() : ShapeView(dim, 1);
    const Dtype dtype = view_of(out).dtype;
    if (kind_of(dtype) == Kind::kComplex || kind_of(view_of(input).dtype) == Kind::kComplex) {
        return kernel([&] { refuse_dtype("input", view_of(input).dtype, "a real dtype"); });
    }
    if (kind_of(dtype) == Kind::kFloating) {
        return inexact_kernel(ctx, [&]<class T>(T) {
            const std::vector<double> x = converted(input, dtype);
            reduce<T>(out, input, dims, [&](const Groups& groups, int64_t r) { return product_of(T(), groups, r, x); });
        });
    }
    return kernel([&] {
        const std::vector<int64_t> x = converted_to_integers(input, dtype);
        reduce<int64_t>(out, input, dims, [&](const Groups& groups, int64_t r) {
            uint64_t product = 1;  // wraps
            for (int64_t k = 0; k < groups.size(); ++k) {
                product *= static_cast<uint64_t>(x[static_cast<size_t>(groups.place(r, k))]);
            }
            return static_cast<int64_t>(product);
        });
    });
}

// ---- norms ----

diopiError_t norm_along(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, const diopiScalar_t* p, diopiSize_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_floating(input);
        const Operand<double> x(input, "input");
        const double order = scalar_as<double>(*p);
        reduce<T>(out, input, list_of(dim), [&](const Groups& groups, int64_t r) -> T {
            if (groups.size() == 0 && (order < 0 || std::isinf(order))) {
                refuse("input has no elements, and no norm of order " + std::to_string(order));
            }
            return norm_of<T>(order, groups.size(), [&](int64_t k) { return x[groups.place(r, k)]; });
        });
    });
}

diopiError_t vector_norm(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const diopiScalar_t* ord, diopiSize_t dim, bool) {
    return norm_along(ctx, op, out, input, ord, dim);
}

diopiError_t norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t self,
                           diopiConstTensorHandle_t norm, diopiSize_t dim, const diopiScalar_t* p) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<double> g(grad_output, "grad_output");
        const Operand<double> x(self, "self");
        const Operand<double> y(norm, "norm");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_shape("grad_input", gx.shape(), x.shape());
        const double order = scalar_as<double>(*p);
        const std::vector<bool> reduced = reduced_dims(x.shape(), list_of(dim));
        require_reduced_shape(y.shape(), x.shape(), reduced);
        require_reduced_shape(g.shape(), x.shape(), reduced);
        const Groups groups(x.shape(), reduced);
        for (int64_t r = 0; r < groups.results(); ++r) {
            const double sharing = extremes_of(
                order, groups.size(), [&](int64_t k) { return x[groups.place(r, k)]; }, y[r]);
            for (int64_t k = 0; k < groups.size(); ++k) {
                const int64_t i = groups.place(r, k);
                gx[i] = T(g[r]) * norm_slope<T>(order, x[i], T(y[r]), sharing);
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/reduction_norm.inc"

}  // namespace diopi::reference
