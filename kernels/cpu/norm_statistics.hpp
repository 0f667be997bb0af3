/// The statistics of channels, which batch normalisation and its parts have in common.
#pragma once

#include <cmath>

#include "kernels/cpu/norm_channels.hpp"

namespace diopi::cpu {

/// The loops over elements of type E, which compute in T.
template <class E, class T>
const ChannelKernels<E, T>& channel_kernels() {
    return std::get<ChannelKernels<E, T>>(channel_table());
}

/// Calls body(first, last) for parts of the runs of elements, in threads.
template <class Body>
void for_runs(const ChannelShape& s, Body&& body) {
    parallel_for(s.runs(), s.run_length(), body);
}

/// Biased variance and mean of every channel; mean in the compute type too, for the terms.
template <class E, class T>
void statistics(const ChannelShape& s, const E* x, double* mean, T* rounded_mean, double* variance) {
    const auto count = static_cast<double>(s.per_channel());
    const auto& kernels = channel_kernels<E, T>();
    for_channels(s, [&](int64_t first, int64_t last) {
        kernels.sums(s, first, last, x, mean);
        for (int64_t c = first; c < last; ++c) rounded_mean[c] = static_cast<T>(mean[c] /= count);
        kernels.squares(s, first, last, x, rounded_mean, variance);
        for (int64_t c = first; c < last; ++c) variance[c] /= count;
    });
}

/// 1 / sqrt(variance + eps) of a batch; a channel without variance and without eps gets 0, as in PyTorch.
inline double inverse_deviation(double variance, double eps) {
    return variance == 0 && eps == 0 ? 0 : 1 / std::sqrt(variance + eps);
}

/// The channels of input; they are last if they are so in both tensors, or if input is (N, C).
[[nodiscard]] ChannelShape channels_of(const View& input, const View& other);
/// The order in which the tensors are to be laid out; (N, C) is channels-last as it stands.
[[nodiscard]] Layout staged_layout(const ChannelShape& s, const View& input);

/// running = (1 - momentum) * running + momentum * batch
[[nodiscard]] diopiError_t update_running(diopiContextHandle_t ctx, diopiTensorHandle_t running, const double* batch,
                                          double factor, double momentum);

}  // namespace diopi::cpu
