/// Division of vectors by their norms. A vector is read tile by tile: for its norm, and for its results.
#include <array>
#include <memory>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/reduction_norm.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/sort.hpp"

namespace diopi::cpu {

namespace {

template <class T>
void divide_tile(T* out, const T* x, int64_t n, double divisor) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<double>(x[i]) / divisor);
}

/// The sum of g * x / divisor^2, in lanes.
template <class T>
double sum_of_products(const T* g, const T* x, int64_t n, double divisor) {
    double lanes[fold::kLanes] = {};
    const auto add = [&](int64_t lane, int64_t i) {
        lanes[lane] += static_cast<double>(g[i]) * (static_cast<double>(x[i]) / divisor / divisor);
    };
    int64_t i = 0;
    for (; i + fold::kLanes <= n; i += fold::kLanes) {
        for (int64_t l = 0; l < fold::kLanes; ++l) add(l, i + l);
    }
    for (int64_t l = 0; i < n; ++i, ++l) add(l, i);
    for (int64_t half = fold::kLanes / 2; half > 0; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    return lanes[0];
}

/// out = g / divisor - shared * (the gradient of the norm).
template <class T, class Slope>
void subtract_slopes(T* out, const T* g, const T* x, int64_t n, double divisor, double shared, double norm,
                     const Slope& given) {
    const Slope slope_of = given;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const double slope = slope_of.of(1, static_cast<double>(x[i]), norm), moved = slope == 0 ? 0 : shared * slope;
        out[i] = static_cast<T>(static_cast<double>(g[i]) / divisor - moved);
    }
}

/// output = x / max(norm, eps) where there is no grad, else its gradient:
/// grad / d - sum(grad * x / d^2) * (the gradient of the norm), d = max(norm, eps).
template <class T, class F, class Slope>
class Vectors {
 public:
    /// Tensors: input, output, and the incoming gradient, if there is one. T is the C++ type of `tiles`.
    Vectors(const AlongDim& plan, const std::array<View, 3>& tensors, Dtype tiles, const F& f, const Slope& slope,
            double eps)
        : plan_(plan), tensors_(tensors), f_(f), slope_(slope), eps_(eps) {
        input_.init(tensors[0].dtype, tiles, buffers_[0]);
        output_.init(tensors[1].dtype, tiles, buffers_[1]);
        if (tensors[2].data != nullptr) grad_.init(tensors[2].dtype, tiles, buffers_[2]);
    }

    void run(int64_t begin, int64_t end) {
        for (row_ = begin; row_ < end; ++row_) {
            const double norm = norm_of_row();
            const double divisor = eps_ > norm ? eps_ : norm;
            if (tensors_[2].data == nullptr)
                divide(divisor);
            else
                differentiate(norm, divisor, eps_ > norm);
        }
    }

 private:
    /// Whether several elements may have the extreme magnitude that is the norm, and share its gradient.
    [[nodiscard]] bool has_shares() const { return std::isinf(slope_.given); }
    [[nodiscard]] Patch patch(size_t tensor, int64_t first, int64_t n) const {
        const View& view = tensors_[tensor];
        const int64_t at = plan_.offset(tensor, row_) + first * plan_.strides[tensor];
        return {view.data + at * view.item_size(), 1, n, 0, plan_.strides[tensor]};
    }
    [[nodiscard]] const T* load(Loader& loader, size_t tensor, int64_t first, int64_t n) {
        return static_cast<const T*>(loader.load(patch(tensor, first, n)));
    }
    template <class Body>
    void for_tiles(const Body& body) const {
        for (int64_t first = 0; first < plan_.n; first += kTile) body(first, std::min(kTile, plan_.n - first));
    }

    [[nodiscard]] double norm_of_row() {
        auto total = f_.start();
        for_tiles(
            [&](int64_t first, int64_t n) { total = f_.join(total, fold_(load(input_, 0, first, n), n, 0, f_)); });
        return f_.finish(total);
    }

    void divide(double divisor) {
        for_tiles([&](int64_t first, int64_t n) {
            divide_(results_, load(input_, 0, first, n), n, divisor);
            output_.store(results_, patch(1, first, n));
        });
    }

    void differentiate(double norm, double divisor, bool is_below) {
        double shared = 0, sharing = 0;
        for_tiles([&](int64_t first, int64_t n) {
            if (is_below) return;
            const T* x = load(input_, 0, first, n);
            shared += sum_(load(grad_, 2, first, n), x, n, divisor);
            if (has_shares()) sharing += count_(x, n, norm, Sharing<T>());
        });
        if (has_shares() && !is_below) shared /= sharing;
        for_tiles([&](int64_t first, int64_t n) {
            const T *x = load(input_, 0, first, n), *g = load(grad_, 2, first, n);
            if (is_below)
                divide_(results_, g, n, divisor);
            else
                subtract_(results_, g, x, n, divisor, shared, norm, slope_);
            output_.store(results_, patch(1, first, n));
        });
    }

    const AlongDim& plan_;
    const std::array<View, 3>& tensors_;
    const F f_;
    const Slope slope_;
    double eps_;
    int64_t row_ = 0;
    decltype(best<fold::row<F, false>>()) fold_ = best<fold::row<F, false>>();
    decltype(best<fold::row<Sharing<T>, true>>()) count_ = best<fold::row<Sharing<T>, true>>();
    decltype(best<divide_tile<T>>()) divide_ = best<divide_tile<T>>();
    decltype(best<sum_of_products<T>>()) sum_ = best<sum_of_products<T>>();
    decltype(best<subtract_slopes<T, Slope>>()) subtract_ = best<subtract_slopes<T, Slope>>();
    Loader input_, grad_;
    Storer output_;
    std::array<Buffers, 3> buffers_;
    T results_[kTile];
};

diopiError_t divide_vectors(const AlongDim& plan, const std::array<View, 3>& tensors, double p, double eps) {
    return with_floats(tensors[0].dtype, [&]<class T>(Dtype tiles) {
        const auto run = [&](const auto& f, const auto& slope) {
            using Kernel = Vectors<T, std::decay_t<decltype(f)>, std::decay_t<decltype(slope)>>;
            parallel_for(plan.rows, 4 * plan.n, Loop::sum, [&](int64_t begin, int64_t end) {
                std::make_unique<Kernel>(plan, tensors, tiles, f, slope, eps)->run(begin, end);
            });
            return diopiSuccess;
        };
        if (p == 2) return run(Norm2<T>(), NormGradient<T, 2>{p});
        return with_norm<T>(p, [&](const auto& f) { return run(f, NormGradient<T>{p}); });
    });
}

diopiError_t normalise_vectors(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t output,
                               diopiConstTensorHandle_t input, float p, int64_t axis, double eps) {
    const View x = view(input), y = view(output);
    AlongDim plan;
    diopiError_t error = check_computable(op, "input", x);
    if (error == diopiSuccess) error = check_shape(op, "output", y, x.shape);
    if (error == diopiSuccess) error = plan_along(op, x, {&y}, axis, -1, plan);
    if (error != diopiSuccess || x.numel == 0) return error;
    return divide_vectors(plan, {x, y, View()}, static_cast<double>(p), eps);
}

diopiError_t normalise_vectors_backward(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t grad_input,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input, float p,
                                        int64_t axis, double eps) {
    const View x = view(input), g = view(grad_output), gx = view(grad_input);
    AlongDim plan;
    diopiError_t error = check_computable(op, "input", x);
    if (error == diopiSuccess) error = check_shape(op, "grad_output", g, x.shape);
    if (error == diopiSuccess) error = check_shape(op, "grad_input", gx, x.shape);
    if (error == diopiSuccess) error = plan_along(op, x, {&gx, &g}, axis, -1, plan);
    if (error != diopiSuccess || x.numel == 0) return error;
    return divide_vectors(plan, {x, gx, g}, static_cast<double>(p), eps);
}

}  // namespace

#include "kernels/entries/norm_vectors.inc"

}  // namespace diopi::cpu
