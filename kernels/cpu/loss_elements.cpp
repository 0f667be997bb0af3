/// Losses of each element, and their gradients. A reduced loss sums the losses of one chunk of elements after the other
/// in double.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "kernels/cpu/loss_entropy.hpp"
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/sum_lanes.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/loss.hpp"

namespace diopi::cpu {

namespace {

template <class T>
double sum_of(const T* x, int64_t n) {
    return sum_lanes<false, double>(x, n, std::identity());
}

constexpr int64_t kChunk = 1 << 13;  ///< elements whose losses stay in the first two levels of the cache

/// The losses of all elements in memory, one chunk after the other where each operand is dense or a single element.
template <class T>
diopiError_t sum_losses(diopiContextHandle_t ctx, const ElementLoss& loss, const TileOp& tile_op, double& sum) {
    const int64_t n = loss.input.numel;
    const auto is_one = [](const View& in) { return in.shape.empty(); };
    const bool is_dense = std::ranges::all_of(loss.ins, [&](const View& in) {
        return is_one(in) || (in.is_contiguous() && std::ranges::equal(in.shape, loss.input.shape));
    });
    const auto add = best<sum_of<T>>();
    std::vector<double> sums(static_cast<size_t>((n + kChunk - 1) / kChunk));
    if (!is_dense || loss.input.shape.empty()) {
        View losses;
        diopiError_t error = require(ctx, loss.input.shape, tile_op.compute, losses);
        if (error == diopiSuccess) error = for_each_tile(ctx, loss.op, {&losses, 1}, loss.ins, tile_op);
        if (error != diopiSuccess) return error;
        for (size_t k = 0; k < sums.size(); ++k) {
            const int64_t first = static_cast<int64_t>(k) * kChunk;
            sums[k] = add(losses.as<T>() + first, std::min(kChunk, n - first));
        }
        sum = sum_of(sums.data(), static_cast<int64_t>(sums.size()));
        return diopiSuccess;
    }
    std::atomic<diopiError_t> failed = diopiSuccess;
    parallel_for(static_cast<int64_t>(sums.size()), kChunk, tile_op.loop, [&](int64_t begin, int64_t end) {
        std::vector<T> losses(kChunk);
        std::vector<View> parts(loss.ins);
        for (int64_t k = begin; k < end; ++k) {
            const int64_t first = k * kChunk;
            const DensePart chunk(std::min(kChunk, n - first));
            for (size_t i = 0; i < parts.size(); ++i) {
                parts[i] = is_one(loss.ins[i]) ? loss.ins[i] : chunk.of(loss.ins[i], first);
            }
            const View part = chunk.of(element(losses.data(), tile_op.compute), 0);
            const diopiError_t error = for_each_tile(ctx, loss.op, {&part, 1}, parts, tile_op);
            if (error != diopiSuccess) failed = error;
            sums[static_cast<size_t>(k)] = add(losses.data(), chunk.size);
        }
    });
    sum = sum_of(sums.data(), static_cast<int64_t>(sums.size()));
    return failed;
}

/// Calls run(dtype, F<T>{numbers...}) with the dtype that the loss computes in, and its type T.
template <template <class> class F, class Run, class... Numbers>
diopiError_t with_function(const ElementLoss& loss, const Run& run, Numbers... numbers) {
    if (loss.computes_in_float64()) return run(Dtype::float64, F<double>{numbers...});
    return run(Dtype::float32, F<float>{static_cast<float>(numbers)...});
}

/// The same with tiles of vectors; the numbers are their state.
template <class Run, class... Numbers>
diopiError_t with_vectors(const ElementLoss& loss, const RealTiles& tiles, const Run& run, Numbers... numbers) {
    const float narrow[] = {static_cast<float>(numbers)...};
    const double wide[] = {static_cast<double>(numbers)...};
    if (!loss.computes_in_float64()) return run.template operator()<float>(tiles.in(true, narrow));
    return run.template operator()<double>(tiles.in(false, wide));
}

/// out = the loss of each element, or their sum or mean. with_tiles(loss, run) calls run with the tiles of a loss.
template <class WithTiles>
diopiError_t lose(diopiContextHandle_t ctx, ElementLoss loss, diopiTensorHandle_t out, const WithTiles& with_tiles) {
    const View y = view(out);
    if (const diopiError_t error = read_element_loss(loss, y); error != diopiSuccess) return error;
    const auto run = [&]<class T>(const TileOp& tile_op) {
        if (loss.reduction == ReductionNone) return for_each_tile(ctx, loss.op, {&y, 1}, loss.ins, tile_op);
        double sum = 0;
        const diopiError_t error = sum_losses<T>(ctx, loss, tile_op, sum);
        if (loss.reduction == ReductionMean) sum /= static_cast<double>(loss.input.numel);
        if (error == diopiSuccess) copy(element(&sum, Dtype::float64), y);
        return error;
    };
    return with_tiles(loss, run);
}
/// The loss F of two numbers.
template <template <class> class F, class... Numbers>
diopiError_t lose(diopiContextHandle_t ctx, const ElementLoss& loss, diopiTensorHandle_t out, Numbers... numbers) {
    return lose(ctx, loss, out, [=](const ElementLoss& read, const auto& run) {
        const auto in_type = [&]<class T>(Dtype compute, const F<T>& f) {
            return run.template operator()<T>(map<2, T>(compute, f));
        };
        return with_function<F>(read, in_type, numbers...);
    });
}
/// The same in vectors.
template <class... Numbers>
diopiError_t lose(diopiContextHandle_t ctx, const ElementLoss& loss, diopiTensorHandle_t out, const RealTiles& tiles,
                  Numbers... numbers) {
    return lose(ctx, loss, out, [&](const ElementLoss& read, const auto& run) {
        return with_vectors(read, tiles, run, 1, numbers...);
    });
}

/// grad_input = the slope of each element, whose first operand is grad_output. with_tiles(loss, run, factor) calls run
/// with the tiles of a slope, and the number of operands that these have within them; the factor is 1, or 1 / n under
/// mean.
template <class WithTiles>
diopiError_t lose_backward(diopiContextHandle_t ctx, ElementLoss loss, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, const WithTiles& with_tiles) {
    const View gx = view(grad_input), g = view(grad_output);
    if (const diopiError_t error = read_element_gradient(loss, gx, g); error != diopiSuccess) return error;
    const double factor = loss.reduction == ReductionMean ? 1 / static_cast<double>(loss.input.numel) : 1;
    const auto run = [&]<class T>(const TileOp& tile_op, size_t within = 0) {
        return for_each_tile(ctx, loss.op, {&gx, 1}, std::span(loss.ins).subspan(within), tile_op);
    };
    return with_tiles(loss, run, factor);
}
/// The slope F of a reduced loss, whose gradient is one number.
template <class T, template <class> class F>
struct SlopeOfSum {
    F<T> slope;
    T grad_output;
    T operator()(T x, T t) const { return slope(grad_output, x, t); }
};
/// The slope F, whose first number is the factor.
template <template <class> class F, class... Numbers>
diopiError_t lose_backward(diopiContextHandle_t ctx, const ElementLoss& loss, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, Numbers... numbers) {
    const auto tiles = [=](const ElementLoss& read, const auto& run, double factor) {
        const auto in_type = [&]<class T>(Dtype compute, const F<T>& slope) {
            if (read.reduction == ReductionNone) return run.template operator()<T>(map<3, T>(compute, slope));
            double g = 0;
            copy(read.ins.front(), element(&g, Dtype::float64));
            const SlopeOfSum<T, F> of_sum{slope, static_cast<T>(g)};
            return run.template operator()<T>(map<2, T>(compute, of_sum), 1);
        };
        return with_function<F>(read, in_type, factor, numbers...);
    };
    return lose_backward(ctx, loss, grad_input, grad_output, tiles);
}
/// The same in vectors.
template <class... Numbers>
diopiError_t lose_backward(diopiContextHandle_t ctx, const ElementLoss& loss, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, const RealTiles& tiles, Numbers... numbers) {
    return lose_backward(ctx, loss, grad_input, grad_output,
                         [&](const ElementLoss& read, const auto& run, double factor) {
                             return with_vectors(read, tiles, run, factor, numbers...);
                         });
}

// ---- squares and distances ----

template <class T>
struct Square {
    T operator()(T x, T t) const { return (x - t) * (x - t); }
};
template <class T>
struct SquareSlope {
    T scale;
    T operator()(T g, T x, T t) const { return T(2) * scale * (x - t) * g; }
};

template <class T>
struct SmoothDistance {
    T beta, factor;  ///< 1 / (2 beta)
    T operator()(T x, T t) const {
        const T d = std::fabs(x - t);
        return d < beta ? d * d * factor : d - T(0.5) * beta;
    }
};
template <class T>
struct SmoothDistanceSlope {
    T scale, beta;
    T operator()(T g, T x, T t) const {
        const T d = x - t, inside = d / beta;
        const T slope = d <= -beta ? T(-1) : d >= beta ? T(1) : inside;
        return scale * slope * g;
    }
};

diopiError_t mse_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return lose<Square>(ctx, {op, reduction, view(input), view(target)}, out);
}
diopiError_t mse_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return lose_backward<SquareSlope>(ctx, {op, reduction, view(input), view(target)}, grad_input, grad_output);
}
diopiError_t smooth_l1_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiReduction_t reduction,
                            double beta) {
    if (beta < 0) return refuse(op, "beta is below 0, wanted none below it");
    return lose<SmoothDistance>(ctx, {op, reduction, view(input), view(target)}, out, beta, 0.5 / beta);
}
diopiError_t smooth_l1_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                     diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                     diopiConstTensorHandle_t target, diopiReduction_t reduction, double beta) {
    return lose_backward<SmoothDistanceSlope>(ctx, {op, reduction, view(input), view(target)}, grad_input, grad_output,
                                              beta);
}

// ---- binary cross entropy ----

diopiError_t bce_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                      diopiReduction_t reduction) {
    return lose(ctx, {op, reduction, view(input), view(target), {{weight, "weight"}}}, out, entropy_tiles());
}
diopiError_t bce_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                               diopiReduction_t reduction) {
    return lose_backward(ctx, {op, reduction, view(input), view(target), {{weight, "weight"}}}, grad_input, grad_output,
                         entropy_slope_tiles());
}
diopiError_t bce_with_logits(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                             diopiConstTensorHandle_t weight, diopiConstTensorHandle_t pos_weight,
                             diopiReduction_t reduction) {
    const ElementLoss loss{op, reduction, view(input), view(target), {{weight, "weight"}, {pos_weight, "pos_weight"}}};
    return lose(ctx, loss, out, logit_entropy_tiles());
}
diopiError_t bce_with_logits_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t pos_weight, diopiReduction_t reduction) {
    const ElementLoss loss{op, reduction, view(input), view(target), {{weight, "weight"}, {pos_weight, "pos_weight"}}};
    return lose_backward(ctx, loss, grad_input, grad_output, logit_entropy_slope_tiles());
}

// ---- focal loss ----

diopiError_t sigmoid_focal_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t inputs, diopiConstTensorHandle_t targets, float alpha,
                                float gamma, diopiReduction_t reduction) {
    return lose(ctx, {op, reduction, view(inputs), view(targets)}, out, focal_tiles(), alpha, gamma);
}
diopiError_t sigmoid_focal_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_output,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                         diopiTensorHandle_t grad_input, float gamma, float alpha,
                                         diopiReduction_t reduction) {
    return lose_backward(ctx, {op, reduction, view(input), view(target)}, grad_input, grad_output, focal_slope_tiles(),
                         alpha, gamma);
}

}  // namespace

#include "kernels/entries/loss_elements.inc"

}  // namespace diopi::cpu
