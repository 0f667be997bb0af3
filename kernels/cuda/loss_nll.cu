/// nll_loss, and the sums over samples of all losses: in two passes, the same in every run.
#include "kernels/cuda/loss.cuh"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

/// Log probabilities, or nothing where only weights are summed up.
struct LogProbabilities {
    const void* data;
    Dtype dtype;
    int64_t class_stride;
    bool is_wanted;
};

/// Where a sample lies in the losses or the targets, the targets, the input.
using SampleWalk = Walk<int64_t, 3>;

__device__ Sums sample_loss(const Targets& targets, const LogProbabilities& input, const int64_t (&places)[3]) {
    const int64_t t = targets.class_at(places[1]);
    if (t == targets.ignore_index) return {0, 0};
    if (!targets.is_class(t)) return {kNoSuchClass<double>, kNoSuchClass<double>};
    const double weight = targets.weight_of(t);
    if (!input.is_wanted) return {0, weight};
    return {-weight * load_number(input.data, places[2] + t * input.class_stride, input.dtype), weight};
}

__global__ void nll_kernel(void* out, Dtype out_dtype, Number total, Targets targets, LogProbabilities input,
                           SampleWalk walk, int64_t samples) {
    const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, step = int64_t{gridDim.x} * blockDim.x;
    if (first == 0 && total.data != nullptr) store(total.data, 0, total.dtype, 0.0);
    for (int64_t i = first; i < samples; i += step) {
        int64_t places[3];
        walk.find(i, places);
        put_rounded(out, places[0], out_dtype, sample_loss(targets, input, places).loss);
    }
}

__global__ void nll_sum_kernel(double* partials, Results results, Targets targets, LogProbabilities input,
                               SampleWalk walk, int64_t samples) {
    Sums sums{0, 0};
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < samples; i += step) {
        int64_t places[3];
        walk.find(i, places);
        const Sums own = sample_loss(targets, input, places);
        sums.loss += own.loss;
        sums.weight += own.weight;
    }
    put_sums(sums, partials, results);
}

__global__ void partials_kernel(const double* partials, int64_t count, Results results) {
    Sums sums{0, 0};
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
        sums.loss += partials[2 * i];
        sums.weight += partials[2 * i + 1];
    }
    put_sums(sums, nullptr, results);
}

/// What each element of grad_input needs: its own place, those of its sample's target and gradient, its class.
template <class Index>
using GradientWalk = Walk<Index, 4>;

template <class Index>
__global__ void nll_backward_kernel(void* grad_in, Dtype grad_in_dtype, const void* grad_out, Dtype grad_out_dtype,
                                    Number total, Targets targets, GradientWalk<Index> walk, Index numel) {
    const double scale = total.data == nullptr ? 1 : 1 / total.get();
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
        Index places[4];
        walk.find(static_cast<Index>(i), places);
        const int64_t t = targets.class_at(places[1]);
        double value = 0;
        if (t != targets.ignore_index && !targets.is_class(t)) value = kNoSuchClass<double>;
        if (t != targets.ignore_index && t == places[3]) {
            value = -targets.weight_of(t) * (load_number(grad_out, places[2], grad_out_dtype) * scale);
        }
        put_rounded(grad_in, places[0], grad_in_dtype, value);
    }
}

LogProbabilities log_probabilities(const Loss& loss) {
    return {loss.input.data, loss.input.dtype, loss.class_stride(loss.input), true};
}

/// `like`: in the shape of the samples; the walk goes in the order of its memory.
SampleWalk sample_walk(const Loss& loss, const View& like) {
    const SampleView input(loss, loss.input);
    return walk_of<int64_t, 3>(make_nest(std::array<View, 3>{like, loss.target, input}));
}

diopiError_t sum_nll(diopiContextHandle_t ctx, const Loss& loss, const LogProbabilities& input,
                     const Results& results) {
    const SampleWalk walk = sample_walk(loss, loss.target);
    const int64_t samples = loss.samples();
    return sum_samples(ctx, loss.op, sum_blocks(samples, 0), results, [&](const Launch& grid, double* partials) {
        return launch(ctx, loss.op, grid, nll_sum_kernel, partials, results, Targets::of(loss), input, walk, samples);
    });
}

diopiError_t nll(diopiContextHandle_t ctx, Loss loss, diopiTensorHandle_t out, diopiTensorHandle_t total_weight) {
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_class_numbers(loss); error != diopiSuccess) return error;
    const View y = view(out);
    if (const diopiError_t error = check_samples(loss, "out", y); error != diopiSuccess) return error;
    const View total = total_weight == nullptr ? View{} : view(total_weight);
    if (loss.reduction != ReductionNone) {
        const bool is_mean = loss.reduction == ReductionMean;
        return sum_nll(ctx, loss, log_probabilities(loss), {Number::of(y), Number::of(total), is_mean, -1});
    }
    const int64_t samples = loss.samples();
    const ReducedView each(loss, y, false);
    if (const diopiError_t error = check_views(loss.op, each, {}); error != diopiSuccess) return error;
    return launch(ctx, loss.op, launch_for(std::max<int64_t>(samples, 1), 1), nll_kernel, y.data, y.dtype,
                  Number::of(total), Targets::of(loss), log_probabilities(loss), sample_walk(loss, each), samples);
}

/// `saved_total`: as saved by the forward, or null to sum it up here.
diopiError_t nll_gradient(diopiContextHandle_t ctx, Loss loss, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved_total) {
    const View grad = view(grad_input), g = view(grad_output);
    if (const diopiError_t error = read_gradient(loss, grad, g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_samples(loss, "grad_output", g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_class_numbers(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_views(loss.op, grad, {}); error != diopiSuccess) return error;
    if (grad.numel == 0) return diopiSuccess;
    View total;
    if (loss.reduction == ReductionMean) {
        if (saved_total != nullptr) {
            total = view(saved_total);
        } else if (const diopiError_t error = total_weight(ctx, loss, total); error != diopiSuccess) {
            return error;
        }
    }
    Shape number_strides(grad.shape.size(), 0);
    number_strides[loss.class_dim()] = 1;
    View class_number = grad;
    class_number.strides = number_strides;
    const ReducedView target(loss, loss.target, true), each(loss, g, true);
    const Nest nest = make_nest(std::array<View, 4>{grad, target, each, class_number});
    const auto start = [&]<class Index>() {
        return launch(ctx, loss.op, launch_for(grad.numel, 1), nll_backward_kernel<Index>, grad.data, grad.dtype,
                      g.data, g.dtype, Number::of(total), Targets::of(loss), walk_of<Index, 4>(nest), nest.numel);
    };
    return nest.fits_32_bits() ? start.template operator()<int32_t>() : start.template operator()<int64_t>();
}

}  // namespace

diopiError_t sum_partials(diopiContextHandle_t ctx, std::string_view op, const double* partials, int64_t count,
                          const Results& results) {
    return launch(ctx, op, Launch{1, kThreads}, partials_kernel, partials, count, results);
}

diopiError_t total_weight(diopiContextHandle_t ctx, const Loss& loss, View& total) {
    const int64_t one[] = {1};
    if (const diopiError_t error = require(ctx, one, Dtype::float64, total); error != diopiSuccess) return error;
    return sum_nll(ctx, loss, {}, {Number::of(View{}), Number::of(total), false, -1});
}

diopiError_t diopiNLLLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                          int64_t ignore_index) {
    return nll(ctx, {__func__, view(input), view(target), weight, reduction, ignore_index}, out, nullptr);
}

diopiError_t diopiNLLLossV2(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t totalWeight,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                            diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index) {
    return nll(ctx, {__func__, view(input), view(target), weight, reduction, ignore_index}, out, totalWeight);
}

diopiError_t diopiNLLLossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                  diopiReduction_t reduction, int64_t ignore_index) {
    return nll_gradient(ctx, {__func__, view(input), view(target), weight, reduction, ignore_index}, grad_input,
                        grad_output, nullptr);
}

diopiError_t diopiNLLLossV2Backward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiConstTensorHandle_t totalWeight, diopiReduction_t reduction,
                                    int64_t ignore_index) {
    return nll_gradient(ctx, {__func__, view(input), view(target), weight, reduction, ignore_index}, grad_input,
                        grad_output, totalWeight);
}

}  // namespace diopi::cuda
