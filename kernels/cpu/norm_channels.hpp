/// Loops over the channels of a dense tensor, in the best instruction set of this machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/half.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

/// A dense tensor (count, channels, inner), or (count * inner, channels) when the channels are last.
struct ChannelShape {
    int64_t count = 0, channels = 0, inner = 1;
    Layout layout = Layout::plain;

    [[nodiscard]] int64_t per_channel() const { return count * inner; }
    /// Runs of elements that are neighbours: planes of one channel, or rows of all channels.
    [[nodiscard]] int64_t runs() const { return layout == Layout::plain ? count * channels : per_channel(); }
    [[nodiscard]] int64_t run_length() const { return layout == Layout::plain ? inner : channels; }
};

/// sums[c] = the sum of x over channel c. T is float or double.
template <class T>
void channel_sums(const ChannelShape& shape, const T* x, double* sums);

/// Elements of type E compute in T: float, or double for double. The first three have one result for each channel, and
/// handle the channels from `first` to `last`; the others handle runs, and have a factor for each channel.
template <class E, class T>
struct ChannelKernels {
    void (*sums)(const ChannelShape& shape, int64_t first, int64_t last, const E* x, double* sums);
    /// The sums of (x - mean)^2.
    void (*squares)(const ChannelShape& shape, int64_t first, int64_t last, const E* x, const T* mean, double* squares);
    /// The sums of g, and of g * (x - mean).
    void (*gradient_sums)(const ChannelShape& shape, int64_t first, int64_t last, const E* g, const E* x, const T* mean,
                          double* sums, double* products);
    /// out = (x - mean) * scale + shift
    void (*normalize)(const ChannelShape& shape, int64_t first, int64_t last, const E* x, const T* mean, const T* scale,
                      const T* shift, E* out);
    /// grad = (g * weight - shift - (x - mean) * slope) * scale; weight may be null.
    void (*gradient)(const ChannelShape& shape, int64_t first, int64_t last, const E* g, const E* x, const T* mean,
                     const T* shift, const T* slope, const T* scale, const T* weight, E* grad);
};

using ChannelTable = std::tuple<ChannelKernels<float, float>, ChannelKernels<double, double>,
                                ChannelKernels<Half, float>, ChannelKernels<Bfloat16, float>>;
[[nodiscard]] const ChannelTable& channel_table();

/// Calls body(first, last) for parts of the channels, in threads. Channels that are last are read in whole cache lines.
template <class Body>
void for_channels(const ChannelShape& shape, Body&& body) {
    const int64_t together = shape.layout == Layout::plain ? 1 : 32;
    parallel_for((shape.channels + together - 1) / together, shape.per_channel() * together,
                 [&](int64_t first, int64_t last) {
                     if (first < last) body(first * together, std::min(last * together, shape.channels));
                 });
}

}  // namespace diopi::cpu
