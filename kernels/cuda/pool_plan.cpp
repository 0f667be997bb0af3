#include "kernels/cuda/pool_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/nest.hpp"

namespace diopi::cuda {

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

bool makes_sense(const Window& w) {
    for (size_t side = 0; side < 2; ++side) {
        if (std::min({w.kernel[side], w.stride[side], w.dilation[side]}) < 1) return false;
        if (w.padding[side] < 0 || 2 * w.padding[side] > w.extent(side)) return false;
    }
    return true;
}

}  // namespace

Planes::Planes(const View& v) {
    const size_t rank = std::min<size_t>(v.shape.size(), 4);
    std::copy_n(v.shape.begin(), rank, sizes.end() - static_cast<std::ptrdiff_t>(rank));
    std::copy_n(v.strides.begin(), rank, strides.end() - static_cast<std::ptrdiff_t>(rank));
}

bool Planes::has_channels_last() const {
    const size_t inner = sizes[3] > 1 ? 3 : 2;
    return sizes[1] > 1 && sizes[inner] > 1 && std::abs(strides[1]) < std::abs(strides[inner]);
}

bool Planes::fits_32_bits() const {
    int64_t below = 0, above = 0;
    for (size_t d = 0; d < 4; ++d) {
        const int64_t span = (sizes[d] - 1) * strides[d];
        (span < 0 ? below : above) += std::abs(span);
    }
    return numel() <= kMost && std::max(below, above) <= kMost;
}

bool Planes::has_channel_packs(const void* data, int count) const {
    if (strides[1] != 1 || sizes[1] % count != 0 || !is_aligned(data, 16)) return false;
    for (const size_t d : {size_t{0}, size_t{2}, size_t{3}}) {
        if (sizes[d] > 1 && strides[d] % count != 0) return false;
    }
    return true;
}

Sides sides_of(diopiSize_t list, Sides missing) {
    if (list.data == nullptr || list.len == 0) return missing;
    return {list.data[0], list.data[list.len > 1 ? 1 : 0]};
}

int64_t Window::count(size_t side, int64_t size, bool ceil_mode) const {
    const int64_t end = size + padding[side], last_start = end + padding[side] - extent(side);
    if (!ceil_mode) return last_start < 0 ? 0 : last_start / stride[side] + 1;
    const int64_t reach = last_start + stride[side] - 1;
    if (reach < 0) return 0;
    const int64_t windows = reach / stride[side] + 1;
    return (windows - 1) * stride[side] < end ? windows : windows - 1;
}

bool Window::fits_32_bits(size_t side, int64_t size) const {
    constexpr int64_t kEach = kMost / 4;
    return size <= kEach && extent(side) <= kEach && stride[side] <= kEach;
}

bool is_pooled(Dtype dtype) {
    return dtype == Dtype::float16 || dtype == Dtype::bfloat16 || dtype == Dtype::float32 || dtype == Dtype::float64;
}

diopiError_t read_window(std::string_view op, const View& in, const View& out, const WindowArguments& arguments,
                         Window& window) {
    if (!is_pooled(in.dtype)) return unsupported(op, "input", in.dtype, "a floating dtype");
    if (!Planes::fits(in)) return wrong_shape(op, "input", in.shape, "(N, C, H, W) or (C, H, W)");
    if (arguments.kernel.len == 0) return fail(diopiErrorOccurred, std::string(op) + ": kernel_size is empty");
    window.kernel = sides_of(arguments.kernel, {1, 1});
    window.stride = sides_of(arguments.stride, window.kernel);
    window.padding = sides_of(arguments.padding, {0, 0});
    window.dilation = sides_of(arguments.dilation, {1, 1});
    if (!makes_sense(window)) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides and dilations of at least 1 and paddings "
                                            "of at most half the dilated kernel");
    }
    Shape wanted(in.shape.begin(), in.shape.end());
    const Planes planes(in);
    for (size_t side = 0; side < 2; ++side) {
        wanted[wanted.size() - 2 + side] = window.count(side, planes.sizes[2 + side], arguments.ceil_mode);
    }
    if (!std::ranges::equal(out.shape, wanted)) return wrong_shape(op, "out", out.shape, to_string(wanted));
    return diopiSuccess;
}

bool parts_fit_32_bits(int64_t size, int64_t parts) {
    return size <= kMost && parts <= kMost && size * parts + std::max(size, parts) <= kMost;
}

int slice_bits(int64_t window, int64_t outputs, bool channels_last) {
    // Chosen by reading, not measured: no GPU was available.
    constexpr int64_t kEnoughThreads = int64_t{1} << 18;
    constexpr int kElementsEach = 2;  // bits
    constexpr int kMostWithChannelsLast = 4, kMostBits = std::bit_width(kThreads) - 1;
    const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(window, 1) - 1)) - kElementsEach;
    // A thread of its own for each channel reads neighbours already.
    if (channels_last && outputs >= kEnoughThreads) return 0;
    return std::clamp(bits, 0, channels_last ? kMostWithChannelsLast : kMostBits);
}

}  // namespace diopi::cuda
