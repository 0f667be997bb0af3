/// What batch normalisation and its gradient share.
#pragma once

#include "kernels/cuda/reduce/channels.cuh"
#include "kernels/cuda/reduce/moments.cuh"
#include "kernels/cuda/reduce/row.cuh"
#include "kernels/cuda/reduce/staging.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cuda {

/// What the last pass needs of a channel: forward (x - mean) * scale + shift.
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
    /// squares: the sum of (x - mean)^2
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

/// Joins all dimensions but the channels'; places of the results count channels. (norm.cu)
[[nodiscard]] Reduction over_channels(std::span<const View> ins);
/// A number of each channel, unless it is not there or has no elements. (norm.cu)
[[nodiscard]] Numbers wanted_numbers(diopiConstTensorHandle_t tensor, int64_t channels);
/// Mean and variance of each channel of the batch, for float and double. (norm.cu)
template <class C>
[[nodiscard]] diopiError_t write_statistics(diopiContextHandle_t ctx, std::string_view op, const View& x,
                                            const ForwardChannels<C>& channels);

}  // namespace diopi::cuda
