/// Standard deviations, products and norms.
#include <cmath>
#include <limits>

#include "core/half.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/power.hpp"
#include "kernels/reference/reduction.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// out[r] = result(groups, r) for each result of a reduction of input over dims.
template <class T, class Result>
void reduce(diopiTensorHandle_t out, diopiConstTensorHandle_t input, ShapeView dims, const Result& result) {
    const ShapeView shape = view_of(input).shape;
    const std::vector<bool> reduced = reduced_dims(shape, dims);
    const Groups groups(shape, reduced);
    Output<T> y(out, "out");
    require_reduced_shape(y.shape(), shape, reduced);
    for (int64_t r = 0; r < groups.results(); ++r) y[r] = result(groups, r);
    y.store();
}

void require_floating(diopiConstTensorHandle_t input) {
    const Dtype dtype = view_of(input).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype("input", dtype, "a floating dtype");
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

double product_of(double, const Groups& groups, int64_t r, const std::vector<double>& x) {
    double product = 1;
    for (int64_t k = 0; k < groups.size(); ++k) product *= x[static_cast<size_t>(groups.place(r, k))];
    return product;
}
Inexact product_of(Inexact, const Groups& groups, int64_t r, const std::vector<double>& x) {
    const auto at = [&](int64_t k) { return x[static_cast<size_t>(groups.place(r, k))]; };
    Inexact product = 1.0;
    for (int64_t k = 0; k < groups.size(); ++k) product *= Inexact(at(k));
    if (may_leave_range(groups.size(), at)) return {product.value, kInfinity};
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

/// The extreme magnitude; NaN if there is one.
template <bool kGreatest, class At>
double extreme_of(int64_t n, const At& at) {
    double best = kGreatest ? 0 : kInfinity;
    for (int64_t k = 0; k < n; ++k) {
        const double size = std::fabs(at(k));
        if (std::isnan(size)) return size;
        if (kGreatest ? size > best : size < best) best = size;
    }
    return best;
}

/// The norm of order p of n elements: (sum |x|^p)^(1/p), the limits of that at p = infinity and -infinity, the number
/// of elements that are not 0 at p = 0.
template <class T, class At>
T norm_of(double p, int64_t n, const At& at) {
    using std::sqrt;
    if (std::isinf(p)) return p > 0 ? extreme_of<true>(n, at) : extreme_of<false>(n, at);
    if (p == 0) return pairwise_sum<double>(n, [&](int64_t k) { return at(k) != 0 ? 1.0 : 0.0; });
    if (p == 1) return pairwise_sum<T>(n, [&](int64_t k) { return T(std::fabs(at(k))); });
    if (p == 2) return sqrt(pairwise_sum<T>(n, [&](int64_t k) { return T(at(k)) * T(at(k)); }));
    if (p < 0) {
        bool has_nan = false, has_zero = false;
        for (int64_t k = 0; k < n; ++k) has_nan |= std::isnan(at(k)), has_zero |= at(k) == 0;
        if (has_zero && !has_nan) return T(0);  // the sum is infinite
    }
    return power(pairwise_sum<T>(n, [&](int64_t k) { return power(T(std::fabs(at(k))), p); }), 1 / p);
}

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

template <class T>
T signed_as(T size, double x) {
    return x > 0 ? size : x < 0 ? -size : T(0);
}

/// The gradient of the norm by one of its elements, x. Elements that have the same extreme magnitude share it equally.
/// Source: torch.ops.aten.norm_backward.
template <class T>
T norm_slope(double p, double x, double norm, double sharing) {
    const double size = std::fabs(x);
    if (p == 0) return T(0);
    if (p == 1) return signed_as(T(1), x);
    if (std::isinf(p)) {
        const bool has_share = size == norm || (std::isnan(size) && std::isnan(norm));
        return has_share ? signed_as(T(1) / sharing, x) : T(0);
    }
    if (norm == 0) return T(0);
    if (p == 2) return T(x) / norm;
    if (p < 1) return x == 0 ? T(0) : signed_as(power(T(size), p - 1), x) * power(T(norm), 1 - p);
    return signed_as(power(T(size), p - 1), x) / power(T(norm), p - 1);
}

diopiError_t norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t self,
                           diopiConstTensorHandle_t norm, diopiSize_t dim, const diopiScalar_t* p) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<double> g(grad_output, "grad_output");
        const Operand<double> x(self, "self");
        const Operand<double> y(norm, "norm");
        Output<T> gx(grad_input, "grad_input");
        require_shape("grad_input", gx.shape(), x.shape());
        const double order = scalar_as<double>(*p);
        const std::vector<bool> reduced = reduced_dims(x.shape(), list_of(dim));
        require_reduced_shape(y.shape(), x.shape(), reduced);
        require_reduced_shape(g.shape(), x.shape(), reduced);
        const Groups groups(x.shape(), reduced);
        for (int64_t r = 0; r < groups.results(); ++r) {
            double sharing = 0;
            for (int64_t k = 0; k < groups.size() && std::isinf(order); ++k) {
                const double size = std::fabs(x[groups.place(r, k)]);
                sharing += size == y[r] || (std::isnan(size) && std::isnan(y[r])) ? 1 : 0;
            }
            for (int64_t k = 0; k < groups.size(); ++k) {
                const int64_t i = groups.place(r, k);
                gx[i] = T(g[r]) * norm_slope<T>(order, x[i], y[r], sharing);
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/reduction_norm.inc"

}  // namespace diopi::reference
