/// Images of one, two or three sides and the windows of convolutions and pools. Shared by the backends cpu and cuda.
///
/// Planes and loops always have three sides: depth, height and width. Images with fewer sides have the last ones; each
/// other side has one element, with a window of one element.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

constexpr size_t kMostSides = 3;
using Sides = std::array<int64_t, kMostSides>;

[[nodiscard]] constexpr int64_t area_of(const Sides& sides) { return sides[0] * sides[1] * sides[2]; }

/// The numbers of a list for the last `sides` sides: a single number is for all of them, an empty list gives `missing`.
[[nodiscard]] Sides sides_of(size_t sides, diopiSize_t list, const Sides& missing);

/// Texts for images of one, two and three sides: "(N, C, H, W) or (C, H, W)", "height, width".
[[nodiscard]] std::string_view image_shapes(size_t sides);
[[nodiscard]] std::string_view side_names(size_t sides);

/// A tensor (N, C, sides), or (C, sides) with N = 1, as (N, C, D, H, W). Strides count elements.
struct Images {
    std::array<int64_t, 2 + kMostSides> sizes{1, 1, 1, 1, 1}, strides{};
    std::byte* data = nullptr;
    Dtype dtype = Dtype::float32;

    Images() = default;
    /// The tensor must fit.
    Images(size_t sides, const View& tensor);
    [[nodiscard]] static bool fits(size_t sides, const View& tensor);

    /// All five dimensions; borrows from this.
    [[nodiscard]] View view() const { return {data, dtype, sizes, strides, numel()}; }
    [[nodiscard]] int64_t count() const { return sizes[0]; }
    [[nodiscard]] int64_t channels() const { return sizes[1]; }
    [[nodiscard]] Sides sides() const { return {sizes[2], sizes[3], sizes[4]}; }
    [[nodiscard]] int64_t area() const { return area_of(sides()); }
    [[nodiscard]] int64_t numel() const { return sizes[0] * sizes[1] * area(); }
};

/// Kernel size, stride, padding and dilation along each side.
struct Window {
    Sides kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

    /// Whether kernel, stride and dilation are 1 or more and padding is 0 or more.
    [[nodiscard]] bool is_sound() const;
    /// Elements from the first to the last one under the window.
    [[nodiscard]] int64_t extent(size_t side) const { return dilation[side] * (kernel[side] - 1) + 1; }
    /// Elements under the window.
    [[nodiscard]] int64_t taps() const { return area_of(kernel); }
    /// The number of windows along a side of `size` elements; 0 if none fits. ceil_mode counts a last partial window,
    /// unless it starts beyond the elements and the padding before them.
    [[nodiscard]] int64_t places(size_t side, int64_t size, bool ceil_mode = false) const;
};

/// Places [first, last).
struct Span {
    int64_t first = 0, last = 0;
};
/// Places p in [0, places) whose element p * stride + offset is in [0, size).
[[nodiscard]] Span inside(int64_t places, int64_t stride, int64_t offset, int64_t size);

}  // namespace diopi::operands
