/// Standard deviations, products and norms. Sums and products of floating numbers are formed in float64; in norms four
/// squares of numbers of less than 64 bits are added up in float32 before.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/reduction_norm.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Mean : Sum {
    using Element = T;
    double count;
    static double step(double a, T x) { return a + static_cast<double>(x); }
    [[nodiscard]] double finish(double a) const { return a / count; }
};

/// The root of the mean square distance from the mean.
template <class T>
struct Deviation : Sum {
    using Element = T;
    double divisor;
    static double step(double a, T x, double mean) {
        const double distance = static_cast<double>(x) - mean;
        return a + distance * distance;
    }
    [[nodiscard]] double finish(double a) const { return std::sqrt(a / divisor); }
};

template <class T>
struct Product {
    using Element = T;
    using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    static Accumulator start() { return 1; }
    static Accumulator step(Accumulator a, T x) { return a * static_cast<Accumulator>(x); }
    static Accumulator join(Accumulator a, Accumulator b) { return a * b; }
    static Accumulator finish(Accumulator a) { return a; }
};

// ---- standard deviation ----

template <class T>
diopiError_t deviation_of(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in,
                          ShapeView dims, double correction, Dtype tiles) {
    Reduction plan;
    if (const diopiError_t error = plan_reduction(op, out, in, dims, plan); error != diopiSuccess) return error;
    const auto n = static_cast<double>(plan.count);
    View mean;
    diopiError_t error = require(ctx, kept_shape(in.shape, dims), Dtype::float64, mean);
    if (error == diopiSuccess) error = fold_along(op, mean, in, dims, tiles, Dtype::float64, Mean<T>{{}, n});
    if (error != diopiSuccess) return error;
    const Deviation<T> f{{}, std::fmax(n - correction, 0)};
    return fold_around(op, out, in, mean, dims, tiles, Dtype::float64, f);
}

diopiError_t deviation(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dim, const diopiScalar_t* correction) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    const double bessel = correction == nullptr ? 1 : number<double>(*correction);
    return with_floats(
        x.dtype, [&]<class T>(Dtype tiles) { return deviation_of<T>(ctx, op, y, x, list_of(dim), bessel, tiles); });
}

// ---- products ----

/// input is converted to the dtype of out first.
diopiError_t product(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const int64_t* dim) {
    const View y = view(out);
    View x = view(input);
    const ShapeView dims = dim == nullptr ? ShapeView() : ShapeView(dim, 1);
    if (is_complex(x.dtype)) return unsupported(op, "input", x.dtype, "a real dtype");
    if (is_complex(y.dtype)) return unsupported(op, "out", y.dtype, "a real dtype");
    const bool is_exact = is_floating(y.dtype) ? is_floating(x.dtype) && size_of(x.dtype) < size_of(y.dtype)
                                               : !is_floating(x.dtype) && y.dtype != Dtype::boolean;
    if (x.dtype != y.dtype && !is_exact) {
        if (const diopiError_t error = contiguous_as(ctx, x, y.dtype, x); error != diopiSuccess) return error;
    }
    if (!is_floating(y.dtype)) {
        return fold_along(op, y, x, dims, Dtype::int64, Dtype::int64, Product<uint64_t>());
    }
    return with_floats(
        y.dtype, [&]<class T>(Dtype tiles) { return fold_along(op, y, x, dims, tiles, Dtype::float64, Product<T>()); });
}

// ---- norms ----

template <class T>
diopiError_t norm_of(std::string_view op, const View& y, const View& x, ShapeView dims, double p, Dtype tiles) {
    return with_norm<T>(p, [&](const auto& f) { return fold_along(op, y, x, dims, tiles, Dtype::float64, f); });
}

diopiError_t norm_along(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, const diopiScalar_t* p, diopiSize_t dim) {
    const View y = view(out), x = view(input);
    const double order = number<double>(*p);
    if (const diopiError_t error = check_norm(op, "input", x, order, y.numel > 0); error != diopiSuccess) return error;
    return norm_over(op, y, x, list_of(dim), order);
}

diopiError_t vector_norm(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const diopiScalar_t* ord, diopiSize_t dim, bool) {
    return norm_along(ctx, op, out, input, ord, dim);
}

/// Divides the gradient of each extreme by the number of elements that have it. Both are dense and have one order.
template <class T>
diopiError_t divide_among(diopiContextHandle_t ctx, std::string_view op, View& grad, const View& x, const View& norm,
                          ShapeView dims, Dtype tiles) {
    View sharing, centres, shares;
    diopiError_t error = contiguous_as(ctx, norm, Dtype::float64, centres);
    if (error == diopiSuccess) error = require(ctx, norm.shape, Dtype::float64, sharing);
    if (error == diopiSuccess) error = require(ctx, grad.shape, Dtype::float64, shares);
    if (error != diopiSuccess) return error;
    error = fold_around(op, sharing, x, centres, dims, tiles, Dtype::float64, Sharing<T>());
    if (error != diopiSuccess) return error;
    copy(grad, shares);
    for (int64_t i = 0; i < shares.numel; ++i) shares.as<double>()[i] /= sharing.as<double>()[i];
    grad = shares;
    return diopiSuccess;
}

diopiError_t norm_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t self,
                           diopiConstTensorHandle_t norm, diopiSize_t dim, const diopiScalar_t* p) {
    const View out = view(grad_input), x = view(self), y = view(norm);
    View grad = view(grad_output);
    const ShapeView dims = list_of(dim);
    const double order = number<double>(*p);
    if (const diopiError_t error = check_computable(op, "self", x); error != diopiSuccess) return error;
    if (const diopiError_t error = check_shape(op, "grad_input", out, x.shape); error != diopiSuccess) return error;
    std::array<int64_t, kMaxRank> grad_strides, norm_strides;
    View wide_grad, wide_norm;
    diopiError_t error = spread_result(op, "grad_output", grad, x, dims, grad_strides, wide_grad);
    if (error == diopiSuccess) error = spread_result(op, "norm", y, x, dims, norm_strides, wide_norm);
    if (error != diopiSuccess || x.numel == 0) return error;
    return with_floats(x.dtype, [&]<class T>(Dtype tiles) {
        if (std::isinf(order)) {
            diopiError_t failed = divide_among<T>(ctx, op, grad, x, y, dims, tiles);
            if (failed == diopiSuccess) failed = spread_result(op, "grad", grad, x, dims, grad_strides, wide_grad);
            if (failed != diopiSuccess) return failed;
        }
        const std::array ins = {wide_grad, x, wide_norm};
        const auto run = [&](const auto& f) { return for_each_tile(ctx, op, {&out, 1}, ins, ternary<T>(tiles, f)); };
        return order == 2 ? run(NormGradient<T, 2>{order}) : run(NormGradient<T>{order});
    });
}

}  // namespace

diopiError_t check_norm(std::string_view op, std::string_view argument, const View& x, double p, bool has_results) {
    if (const diopiError_t error = check_computable(op, argument, x); error != diopiSuccess) return error;
    if (x.numel > 0 || !has_results || (p >= 0 && p != kInfinity)) return diopiSuccess;
    return wrong_shape(op, argument, x.shape, "elements along dim for this order of the norm");
}

diopiError_t norm_over(std::string_view op, const View& out, const View& in, ShapeView dims, double p) {
    if (in.dtype == Dtype::bfloat16 && p == 2) {
        return fold_along(op, out, in, dims, Dtype::bfloat16, Dtype::float64, Norm2<Bfloat16>());
    }
    return with_floats(in.dtype, [&]<class T>(Dtype tiles) { return norm_of<T>(op, out, in, dims, p, tiles); });
}

#include "kernels/entries/reduction_norm.inc"

}  // namespace diopi::cpu
