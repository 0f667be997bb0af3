/// Sums over all but the channels of a dense tensor.
#pragma once

#include <cstdint>

#include "kernels/cpu/onednn_staging.hpp"

namespace diopi::cpu {

/// A dense tensor (count, channels, inner), or (count * inner, channels) when the channels are last.
struct ChannelShape {
    int64_t count = 0, channels = 0, inner = 1;
    Layout layout = Layout::plain;

    [[nodiscard]] int64_t per_channel() const { return count * inner; }
};

/// sums[c] = the sum of x over channel c. T is float or double.
template <class T>
void channel_sums(const ChannelShape& shape, const T* x, double* sums);

}  // namespace diopi::cpu
