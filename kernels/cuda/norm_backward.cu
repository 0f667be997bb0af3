/// The gradients of batch normalisation.
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

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
struct GradientSums : JoinGradients<double> {
    using Compute = C;
    using State = GradientSum<double>;
    static constexpr int kIns = 2;
    static constexpr bool kTakesMany = true, kOnlyColumns = false;

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

struct Gradients {
    diopiTensorHandle_t input, weight, bias;
    diopiConstTensorHandle_t output, saved_mean, saved_invstd;
};

template <class T>
diopiError_t batch_backward(diopiContextHandle_t ctx, const BatchNorm& a, diopiConstTensorHandle_t input,
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
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted_numbers(tensor, channels); };
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

}  // namespace

diopiError_t diopiBatchNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                    diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                    diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    const BatchNorm a{__func__, view(input), weight, nullptr, running_mean, running_var, training, eps};
    if (const diopiError_t error = check_batch_norm(a, view(grad_output)); error != diopiSuccess) return error;
    if (a.input.numel == 0) return fill_all(ctx, a.op, {grad_weight, grad_bias}, 0);
    const Gradients grads{grad_input, grad_weight, grad_bias, grad_output, save_mean, save_invstd};
    return with_floating_type(a.input.dtype, [&]<class T>() { return batch_backward<T>(ctx, a, input, grads); });
}

}  // namespace diopi::cuda
