#include "kernels/cuda/pool_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "kernels/cuda/element/launch.hpp"
#include "kernels/cuda/element/nest.hpp"

namespace diopi::cuda {

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

}  // namespace

bool has_channels_last(const Images& images) {
    size_t inner = images.sizes.size() - 1;
    while (inner > 2 && images.sizes[inner] == 1) --inner;
    return images.sizes[1] > 1 && images.sizes[inner] > 1 &&
           std::abs(images.strides[1]) < std::abs(images.strides[inner]);
}

bool fits_32_bits(const Images& images) {
    int64_t below = 0, above = 0;
    for (size_t d = 0; d < images.sizes.size(); ++d) {
        const int64_t span = (images.sizes[d] - 1) * images.strides[d];
        (span < 0 ? below : above) += std::abs(span);
    }
    return images.numel() <= kMost && std::max(below, above) <= kMost;
}

bool has_channel_packs(const Images& images, int count) {
    if (images.strides[1] != 1 || images.sizes[1] % count != 0 || !is_aligned(images.data, 16)) return false;
    for (size_t d = 0; d < images.sizes.size(); ++d) {
        if (d != 1 && images.sizes[d] > 1 && images.strides[d] % count != 0) return false;
    }
    return true;
}

bool fits_32_bits(const Window& window, const Sides& sides) {
    constexpr int64_t kEach = kMost / 4;
    for (size_t d = 0; d < sides.size(); ++d) {
        if (std::max({sides[d], window.extent(d), window.stride[d]}) > kEach) return false;
    }
    return true;
}

bool parts_fit_32_bits(int64_t size, int64_t parts) {
    return size <= kMost && parts <= kMost && size * parts + std::max(size, parts) <= kMost;
}

int slice_bits(int64_t window, int64_t outputs, bool channels_last) {
    // Not measured.
    constexpr int64_t kEnoughThreads = int64_t{1} << 18;
    constexpr int kElementsEach = 2;  // bits
    constexpr int kMostWithChannelsLast = 4, kMostBits = std::bit_width(kThreads) - 1;
    const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(window, 1) - 1)) - kElementsEach;
    // A thread of its own for each channel reads neighbours already.
    if (channels_last && outputs >= kEnoughThreads) return 0;
    return std::clamp(bits, 0, channels_last ? kMostWithChannelsLast : kMostBits);
}

}  // namespace diopi::cuda
