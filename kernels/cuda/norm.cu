/// Batch normalisation and its gradients. Statistics in one pass, by moments of a few elements each that are then
/// joined; the numbers of a channel are computed in double.
#include <algorithm>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/channels.cuh"
#include "kernels/cuda/reduce/row.cuh"
#include "kernels/cuda/reduce/staging.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// The numbers of a channel that the last pass needs: forward (x - mean) * scale + shift.
template <class C>
struct Coefficients {
    C mean, scale, shift, slope;
};

/// 1 / sqrt(variance + eps); a batch without variance and without eps gets 0, as in PyTorch.
__device__ inline double batch_invstd(double variance, double eps) {
    return variance != 0 || eps != 0 ? 1 / sqrt(variance + eps) : 0;
}

/// Writes what the forward function gives of each channel.
template <class C>
struct ForwardChannels {
    Numbers weight, bias, running_mean, running_var, save_mean, save_invstd;
    Coefficients<C>* made;
    double count, momentum, eps;

    __device__ void write(int64_t c, double mean, double invstd) const {
        const double scale = weight ? invstd * weight.get(c) : invstd;
        const double shift = bias ? bias.get(c) : 0;
        made[c] = {static_cast<C>(mean), static_cast<C>(scale), static_cast<C>(shift), C(0)};
        if (save_mean) save_mean.set(c, mean);
        if (save_invstd) save_invstd.set(c, invstd);
    }
    __device__ void write_running(int64_t c) const {
        write(c, running_mean.get(c), 1 / sqrt(running_var.get(c) + eps));
    }
    __device__ void write_batch(int64_t c, double mean, double squares) const {
        write(c, mean, batch_invstd(squares / count, eps));
        if (running_mean) running_mean.set(c, (1 - momentum) * running_mean.get(c) + momentum * mean);
        if (running_var) {
            running_var.set(c, (1 - momentum) * running_var.get(c) + momentum * (squares / (count - 1)));
        }
    }
};

/// (x - mean) * scale + shift
template <class C>
struct Normalise {
    using Channel = Coefficients<C>;
    const Channel* channels;

    __device__ Channel channel(int64_t c) const { return channels[c]; }
    __device__ C operator()(const Channel& c, const C (&x)[1]) const { return (x[0] - c.mean) * c.scale + c.shift; }
};

template <class C>
__global__ void running_kernel(ForwardChannels<C> channels, int64_t count) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < count; c += step) channels.write_running(c);
}

/// Reduces all dimensions but the channels'; the places of the results are the numbers of the channels.
Reduction over_channels(std::span<const View> ins) {
    Flags reduced{};
    for (size_t d = 0; d < ins[0].shape.size(); ++d) reduced[d] = d != 1;
    return make_reduction(ins, reduced, channel_strides());
}

/// One number for each channel; nothing where the tensor is null or has no elements.
Numbers wanted_numbers(diopiConstTensorHandle_t tensor, int64_t channels) {
    if (tensor == nullptr || view(tensor).numel != channels) return {};
    return numbers_of(view(tensor));
}

/// Mean and variance of each channel of the batch.
template <class C>
diopiError_t write_statistics(diopiContextHandle_t ctx, std::string_view op, const View& x,
                              const ForwardChannels<C>& channels) {
    const std::array ins = {x};
    const Reduction plan = over_channels(ins);
    Statistics<C, ForwardChannels<C>> f{};
    f.results = channels;
    f.results.count = static_cast<double>(plan.count);
    return run_reduction(ctx, op, plan, ins, f);
}
template <class T>
diopiError_t batch_forward(diopiContextHandle_t ctx, const BatchNorm& a) {
    using C = ComputeOf<T>;
    const Dtype dtype = view(a.input).dtype;
    const int64_t channel_count = view(a.input).shape[1];
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::any);
    const View y = staging.out(a.out, dtype, Staging::Strides::any);
    const View room = staging.buffer(channel_count * static_cast<int64_t>(sizeof(Coefficients<C>)), Dtype::uint8);
    if (staging.error() != diopiSuccess) return staging.error();
    auto* made = elements<Coefficients<C>>(room);
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted_numbers(tensor, channel_count); };
    const ForwardChannels<C> channels{number(a.weight),
                                      number(a.bias),
                                      number(a.running_mean),
                                      number(a.running_var),
                                      number(a.save_mean),
                                      number(a.save_invstd),
                                      made,
                                      0,
                                      a.momentum,
                                      a.eps};
    diopiError_t error = diopiSuccess;
    if (a.training) {
        error = write_statistics<C>(ctx, a.op, x, channels);
    } else {
        error = launch(ctx, a.op, launch_for(channel_count, 1), running_kernel<C>, channels, channel_count);
    }
    if (error != diopiSuccess) return error;
    error = map_channels<T, C, 1>(ctx, a.op, y, {x}, Normalise<C>{made});
    return error != diopiSuccess ? error : staging.finish();
}

/// (g - shift - (x - mean) * slope) * scale
template <class C>
struct BatchGradient {
    using Channel = Coefficients<C>;
    const Channel* channels;

    __device__ Channel channel(int64_t c) const { return channels[c]; }
    __device__ C operator()(const Channel& c, const C (&gx)[2]) const {
        return (gx[0] - c.shift - (gx[1] - c.mean) * c.slope) * c.scale;
    }
};

/// The sums of g and of g * (x - mean) of each channel, and what follows from them.
template <class C>
struct GradientSums : GradientReduction<C> {
    using State = GradientSum<double>;

    Numbers weight, centre, spread, grad_weight, grad_bias;
    Coefficients<C>* made;
    double count, eps;
    bool training, is_variance;  ///< of the spread; else it is 1 / sqrt(variance + eps)
    C mean;

    __device__ GradientSums at(int64_t c) const {
        GradientSums each = *this;
        each.mean = static_cast<C>(centre.get(c));
        return each;
    }
    template <int kCount, class Number>
    __device__ void take_many(State& state, const C (&gx)[kCount][2], Number&&) const {
        take_gradients(state, gx, [&](int i) { return gx[i][1] - mean; });
    }

    __device__ void write(int64_t c, const State& state) const {
        const double invstd = is_variance ? 1 / sqrt(spread.get(c) + eps) : spread.get(c);
        const double sum = state.sum, product = state.product * invstd;
        const double scale = weight ? invstd * weight.get(c) : invstd;
        if (grad_weight) grad_weight.set(c, product);
        if (grad_bias) grad_bias.set(c, sum);
        made[c] = {C(0), static_cast<C>(scale), C(0), C(0)};
        if (!training) return;
        made[c].mean = mean;
        made[c].shift = static_cast<C>(sum / count);
        made[c].slope = static_cast<C>(product * invstd / count);
    }
};

template <class T>
diopiError_t batch_backward(diopiContextHandle_t ctx, const BatchNormGradient& a) {
    using C = ComputeOf<T>;
    constexpr Dtype kCompute = std::is_same_v<C, double> ? Dtype::float64 : Dtype::float32;
    const Dtype dtype = view(a.input).dtype;
    const int64_t channels = view(a.input).shape[1];
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::any);
    const View g = staging.in(a.grad_output, dtype, Staging::Strides::any);
    const View gx = staging.out(a.grad_input, dtype, Staging::Strides::any);
    const View room = staging.buffer(channels * static_cast<int64_t>(sizeof(Coefficients<C>)), Dtype::uint8);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted_numbers(tensor, channels); };
    GradientSums<C> f{};
    f.weight = number(a.weight);
    f.centre = number(a.training ? a.save_mean : a.running_mean);
    f.spread = number(a.training ? a.save_invstd : a.running_var);
    f.grad_weight = number(a.grad_weight);
    f.grad_bias = number(a.grad_bias);
    f.made = elements<Coefficients<C>>(room);
    f.eps = a.eps;
    f.training = a.training;
    f.is_variance = !a.training;
    if (!f.centre || !f.spread) {
        const View mean = staging.buffer(channels, kCompute), invstd = staging.buffer(channels, kCompute);
        if (staging.error() != diopiSuccess) return staging.error();
        f.centre = numbers_of(mean);
        f.spread = numbers_of(invstd);
        const ForwardChannels<C> of_batch{{}, {}, {}, {}, f.centre, f.spread, f.made, 0, 0, a.eps};
        if (const diopiError_t error = write_statistics<C>(ctx, a.op, x, of_batch); error != diopiSuccess) return error;
    }
    const std::array ins = {g, x};
    const Reduction plan = over_channels(ins);
    f.count = static_cast<double>(plan.count);
    diopiError_t error = run_reduction(ctx, a.op, plan, ins, f);
    if (error == diopiSuccess && gx.data != nullptr) {
        error = a.training ? map_channels<T, C, 2>(ctx, a.op, gx, ins, BatchGradient<C>{f.made})
                           : map_channels<T, C, 1>(ctx, a.op, gx, {g}, Normalise<C>{f.made});
    }
    return error != diopiSuccess ? error : staging.finish();
}

template <class... Arguments>
diopiError_t batch_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    const BatchNorm a{arguments...};
    if (const diopiError_t error = check_batch_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) return fill_all(ctx, a.op, {a.save_mean, a.save_invstd}, 0);
    return with_floating_type(x.dtype, [&]<class T>() { return batch_forward<T>(ctx, a); });
}

template <class... Arguments>
diopiError_t batch_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    const BatchNormGradient a{arguments...};
    if (const diopiError_t error = check_batch_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) return fill_all(ctx, a.op, {a.grad_weight, a.grad_bias}, 0);
    return with_floating_type(x.dtype, [&]<class T>() { return batch_backward<T>(ctx, a); });
}

}  // namespace

#include "kernels/entries/norm.inc"

}  // namespace diopi::cuda
