/// Batch normalisation. Statistics in one pass, by moments of a few elements each that are then joined; what belongs to
/// a channel is computed in double.
#include <algorithm>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct BatchStatistics : JoinMoments<C> {
    using Compute = C;
    using State = Moments<C>;
    static constexpr int kIns = 1;
    static constexpr bool kTakesMany = true, kOnlyColumns = false;

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

struct Results {
    diopiTensorHandle_t out, save_mean, save_invstd, running_mean, running_var;
    double momentum;
};

template <class T>
diopiError_t batch_forward(diopiContextHandle_t ctx, const BatchNorm& a, diopiConstTensorHandle_t input,
                           const Results& r) {
    using C = ComputeOf<T>;
    Staging staging(ctx, a.op);
    const View x = staging.in(input, a.input.dtype, Staging::Strides::any);
    const View y = staging.out(r.out, a.input.dtype, Staging::Strides::any);
    const View room = staging.buffer(a.channels() * static_cast<int64_t>(sizeof(Coefficients<C>)), Dtype::uint8);
    if (staging.error() != diopiSuccess) return staging.error();
    auto* made = elements<Coefficients<C>>(room);
    const auto number = [&](diopiConstTensorHandle_t tensor) { return wanted_numbers(tensor, a.channels()); };
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
        error = write_statistics<C>(ctx, a.op, x, channels);
    } else {
        error = launch(ctx, a.op, launch_for(a.channels(), 1), running_kernel<C>, channels, a.channels());
    }
    if (error != diopiSuccess) return error;
    error = map_channels<T, C, 1>(ctx, a.op, y, {x}, Normalise<C>{made});
    return error != diopiSuccess ? error : staging.finish();
}

}  // namespace

Reduction over_channels(std::span<const View> ins) {
    Flags reduced{};
    for (size_t d = 0; d < ins[0].shape.size(); ++d) reduced[d] = d != 1;
    return make_reduction(ins, reduced, channel_strides());
}

Numbers wanted_numbers(diopiConstTensorHandle_t tensor, int64_t channels) {
    if (tensor == nullptr || view(tensor).numel != channels) return {};
    return numbers_of(view(tensor));
}

template <class C>
diopiError_t write_statistics(diopiContextHandle_t ctx, std::string_view op, const View& x,
                              const ForwardChannels<C>& channels) {
    const std::array ins = {x};
    const Reduction plan = over_channels(ins);
    BatchStatistics<C> f{};
    f.channels = channels;
    f.channels.count = static_cast<double>(plan.count);
    return run_reduction(ctx, op, plan, ins, f);
}
template diopiError_t write_statistics(diopiContextHandle_t, std::string_view, const View&,
                                       const ForwardChannels<float>&);
template diopiError_t write_statistics(diopiContextHandle_t, std::string_view, const View&,
                                       const ForwardChannels<double>&);

diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                            diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var, bool training,
                            double momentum, double eps) {
    const BatchNorm a{__func__, view(input), weight, bias, running_mean, running_var, training, eps};
    if (const diopiError_t error = check_batch_norm(a, view(out)); error != diopiSuccess) return error;
    if (a.input.numel == 0) return fill_all(ctx, a.op, {save_mean, save_invstd}, 0);
    const Results results{out, save_mean, save_invstd, running_mean, running_var, momentum};
    return with_floating_type(a.input.dtype, [&]<class T>() { return batch_forward<T>(ctx, a, input, results); });
}

}  // namespace diopi::cuda
