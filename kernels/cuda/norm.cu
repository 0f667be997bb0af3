/// Batch normalisation. Statistics in one pass, by moments of a few elements each that are then joined; what belongs to
/// a channel is computed in double.
#include <algorithm>

#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce_channels.cuh"
#include "kernels/cuda/reduce_moments.cuh"
#include "kernels/cuda/reduce_row.cuh"
#include "kernels/cuda/reduce_staging.hpp"

namespace diopi::cuda {

namespace {

/// What the last pass needs of a channel: forward (x - mean) * scale + shift.
template <class C>
struct Coefficients {
    C mean, scale, shift, slope;
};

/// 1 / sqrt(variance + eps); a batch without variance and without eps gets 0, as in PyTorch.
__device__ double batch_invstd(double variance, double eps) {
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
    /// squares: the sum of (x - mean)^2
    __device__ void write_batch(int64_t c, double mean, double squares) const {
        write(c, mean, batch_invstd(squares / count, eps));
        if (running_mean) running_mean.set(c, (1 - momentum) * running_mean.get(c) + momentum * mean);
        if (running_var) {
            running_var.set(c, (1 - momentum) * running_var.get(c) + momentum * (squares / (count - 1)));
        }
    }
};

template <class C>
struct BatchStatistics : JoinMoments<C> {
    using Compute = C;
    using State = Moments<C>;
    static constexpr int kIns = 1;
    static constexpr bool kTakesMany = true;

    ForwardChannels<C> channels;

    __device__ const BatchStatistics& at(int64_t) const { return *this; }
    __device__ State identity() const { return {0, 0, 0}; }
    template <int kCount, class Number>
    __device__ void take_many(State& state, const C (&x)[kCount][1], Number&&) const {
        C values[kCount];
        for (int i = 0; i < kCount; ++i) values[i] = x[i][0];
        take_moments(state, values);
    }
    __device__ void write(int64_t c, const State& state) const {
        channels.write_batch(c, static_cast<double>(state.sum) / channels.count, state.squares);
    }
};

template <class C>
__global__ void running_kernel(ForwardChannels<C> channels, int64_t count) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < count; c += step) channels.write_running(c);
}

/// (x - mean) * scale + shift
template <class C>
struct Normalise {
    using Channel = Coefficients<C>;
    const Channel* channels;

    __device__ Channel channel(int64_t c) const { return channels[c]; }
    __device__ C operator()(const Channel& c, const C (&x)[1]) const { return (x[0] - c.mean) * c.scale + c.shift; }
};

/// (g - shift - (x - mean) * slope) * scale
template <class C>
struct Gradient {
    using Channel = Coefficients<C>;
    const Channel* channels;

    __device__ Channel channel(int64_t c) const { return channels[c]; }
    __device__ C operator()(const Channel& c, const C (&gx)[2]) const {
        return (gx[0] - c.shift - (gx[1] - c.mean) * c.slope) * c.scale;
    }
};

/// The sums of g and of g * (x - mean) of each channel, and what follows from them.
template <class C>
struct GradientSums : JoinGradients<double> {
    using Compute = C;
    using State = GradientSum<double>;
    static constexpr int kIns = 2;
    static constexpr bool kTakesMany = true;

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
    __device__ State identity() const { return {0, 0}; }
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

struct Arguments {
    std::string_view op;
    View input;
    diopiConstTensorHandle_t weight, bias, mean, variance;
    bool training;
    double eps;

    [[nodiscard]] int64_t channels() const { return input.shape[1]; }
};

diopiError_t check(const Arguments& a, const View& out) {
    if (!is_computable(a.input.dtype)) return unsupported(a.op, "input", a.input.dtype, "a floating dtype");
    const ShapeView shape = a.input.shape;
    if (shape.size() < 2 || shape.size() > kMaxRank) {
        return wrong_shape(a.op, "input", shape, "(N, C) or (N, C, ...)");
    }
    if (!std::ranges::equal(out.shape, shape)) return wrong_shape(a.op, "out", out.shape, "that of input");
    for (const diopiConstTensorHandle_t each : {a.weight, a.bias, a.mean, a.variance}) {
        if (each != nullptr && view(each).numel != a.channels()) {
            return wrong_shape(a.op, "a parameter", view(each).shape, to_string(shape.subspan(1, 1)));
        }
    }
    if (!a.training && (a.mean == nullptr || a.variance == nullptr)) {
        return fail(diopiErrorOccurred,
                    std::string(a.op) + ": running_mean and running_var are needed when training is false");
    }
    return diopiSuccess;
}

/// Joins all dimensions but the channels'; places of the results count channels.
Reduction over_channels(std::span<const View> ins) {
    Flags reduced{};
    for (size_t d = 0; d < ins[0].shape.size(); ++d) reduced[d] = d != 1;
    return make_reduction(ins, reduced, channel_strides());
}

/// A number of each channel, unless it is not there or has no elements.
Numbers wanted(diopiConstTensorHandle_t tensor, int64_t channels) {
    if (tensor == nullptr || view(tensor).numel != channels) return {};
    return numbers_of(view(tensor));
}

template <class C>
diopiError_t statistics(diopiContextHandle_t ctx, std::string_view op, const View& x,
                        const ForwardChannels<C>& channels) {
    const std::array ins = {x};
    const Reduction plan = over_channels(ins);
    BatchStatistics<C> f{};
    f.channels = channels;
    f.channels.count = static_cast<double>(plan.count);
    return run_reduction(ctx, op, plan, ins, f);
}

struct Results {
    diopiTensorHandle_t out, save_mean, save_invstd, running_mean, running_var;
    double momentum;
};

template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const Arguments& a, diopiConstTensorHandle_t input, const Results& r) {
    using C = ComputeOf<T>;
    Staging staging(ctx, a.op);
    const View x = staging.in(input, a.input.dtype, Staging::Strides::any);
    const View y = staging.out(r.out, a.input.dtype, Staging::Strides::any);
    const View room = staging.buffer(a.channels() * static_cast<int64_t>(sizeof(Coefficients<C>)), Dtype::uint8);
    if (staging.error() != diopiSuccess) return staging.error();
    auto* made = elements<Coefficients<C>>(room);
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted(tensor, a.channels()); };
    const ForwardChannels<C> channels{number(a.weight),
                                      number(a.bias),
                                      number(a.mean),
                                      number(a.variance),
                                      number(r.save_mean),
                                      number(r.save_invstd),
                                      made,
                                      0,
                                      r.momentum,
                                      a.eps};
    diopiError_t error = diopiSuccess;
    if (a.training) {
        error = statistics<C>(ctx, a.op, x, channels);
    } else {
        error = launch(ctx, a.op, launch_for(a.channels(), 1), running_kernel<C>, channels, a.channels());
    }
    if (error != diopiSuccess) return error;
    error = map_channels<T, C, 1>(ctx, a.op, y, {x}, Normalise<C>{made});
    return error != diopiSuccess ? error : staging.finish();
}

struct Gradients {
    diopiTensorHandle_t input, weight, bias;
    diopiConstTensorHandle_t output, saved_mean, saved_invstd;
};

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const Arguments& a, diopiConstTensorHandle_t input,
                      const Gradients& grads) {
    using C = ComputeOf<T>;
    constexpr Dtype kCompute = std::is_same_v<C, double> ? Dtype::float64 : Dtype::float32;
    const int64_t channels = a.channels();
    Staging staging(ctx, a.op);
    const View x = staging.in(input, a.input.dtype, Staging::Strides::any);
    const View g = staging.in(grads.output, a.input.dtype, Staging::Strides::any);
    const View gx = staging.out(grads.input, a.input.dtype, Staging::Strides::any);
    const View room = staging.buffer(channels * static_cast<int64_t>(sizeof(Coefficients<C>)), Dtype::uint8);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted(tensor, channels); };
    GradientSums<C> f{};
    f.weight = number(a.weight);
    f.centre = number(a.training ? grads.saved_mean : a.mean);
    f.spread = number(a.training ? grads.saved_invstd : a.variance);
    f.grad_weight = number(grads.weight);
    f.grad_bias = number(grads.bias);
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
        if (const diopiError_t error = statistics<C>(ctx, a.op, x, of_batch); error != diopiSuccess) return error;
    }
    const std::array ins = {g, x};
    const Reduction plan = over_channels(ins);
    f.count = static_cast<double>(plan.count);
    diopiError_t error = run_reduction(ctx, a.op, plan, ins, f);
    if (error == diopiSuccess && gx.data != nullptr) {
        error = a.training ? map_channels<T, C, 2>(ctx, a.op, gx, ins, Gradient<C>{f.made})
                           : map_channels<T, C, 1>(ctx, a.op, gx, {g}, Normalise<C>{f.made});
    }
    return error != diopiSuccess ? error : staging.finish();
}

/// The number of a call without elements; null is allowed.
diopiError_t fill_all(diopiContextHandle_t ctx, std::string_view op, std::initializer_list<diopiTensorHandle_t> all) {
    for (const diopiTensorHandle_t tensor : all) {
        if (tensor == nullptr) continue;
        if (const diopiError_t error = fill(ctx, op, view(tensor), 0); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

}  // namespace

diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                            diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var, bool training,
                            double momentum, double eps) {
    const Arguments a{"diopiBatchNorm", view(input), weight, bias, running_mean, running_var, training, eps};
    if (const diopiError_t error = check(a, view(out)); error != diopiSuccess) return error;
    if (a.input.numel == 0) return fill_all(ctx, a.op, {save_mean, save_invstd});
    const Results results{out, save_mean, save_invstd, running_mean, running_var, momentum};
    return with_floating_type(a.input.dtype, [&]<class T>() { return forward<T>(ctx, a, input, results); });
}

diopiError_t diopiBatchNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                    diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                    diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    const Arguments a{"diopiBatchNormBackward", view(input), weight, nullptr, running_mean, running_var, training, eps};
    if (const diopiError_t error = check(a, view(grad_output)); error != diopiSuccess) return error;
    if (a.input.numel == 0) return fill_all(ctx, a.op, {grad_weight, grad_bias});
    const Gradients grads{grad_input, grad_weight, grad_bias, grad_output, save_mean, save_invstd};
    return with_floating_type(a.input.dtype, [&]<class T>() { return backward<T>(ctx, a, input, grads); });
}

}  // namespace diopi::cuda
