#include "kernels/operands/window.hpp"

#include <algorithm>

namespace diopi::operands {

Sides sides_of(size_t sides, diopiSize_t list, const Sides& missing) {
    if (list.data == nullptr || list.len == 0) return missing;
    Sides numbers = missing;
    for (size_t d = 0; d < sides; ++d) {
        numbers[kMostSides - sides + d] = list.data[std::min(static_cast<int64_t>(d), list.len - 1)];
    }
    return numbers;
}

std::string_view image_shapes(size_t sides) {
    constexpr std::string_view kShapes[] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                            "(N, C, D, H, W) or (C, D, H, W)"};
    return kShapes[sides - 1];
}

std::string_view side_names(size_t sides) {
    constexpr std::string_view kNames[] = {"length", "height, width", "depth, height, width"};
    return kNames[sides - 1];
}

Images::Images(size_t sides, const View& tensor) : data(tensor.data), dtype(tensor.dtype) {
    const auto take = [&](ShapeView from, std::array<int64_t, 2 + kMostSides>& to) {
        std::ranges::copy(from.last(sides), to.end() - static_cast<std::ptrdiff_t>(sides));
        to[1] = from[from.size() - sides - 1];
        if (from.size() == sides + 2) to[0] = from[0];
    };
    take(tensor.shape, sizes);
    take(tensor.strides, strides);
}

bool Images::fits(size_t sides, const View& tensor) {
    return tensor.shape.size() == sides + 1 || tensor.shape.size() == sides + 2;
}

bool Window::is_sound() const {
    for (size_t side = 0; side < kMostSides; ++side) {
        if (std::min({kernel[side], stride[side], dilation[side]}) < 1 || padding[side] < 0) return false;
    }
    return true;
}

int64_t Window::places(size_t side, int64_t size, bool ceil_mode) const {
    const int64_t end = size + padding[side], last_start = end + padding[side] - extent(side);
    if (!ceil_mode) return last_start < 0 ? 0 : last_start / stride[side] + 1;
    const int64_t reach = last_start + stride[side] - 1;
    if (reach < 0) return 0;
    const int64_t windows = reach / stride[side] + 1;
    return (windows - 1) * stride[side] < end ? windows : windows - 1;
}

Span inside(int64_t places, int64_t stride, int64_t offset, int64_t size) {
    const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t last = size - offset <= 0 ? 0 : (size - offset + stride - 1) / stride;
    return {std::min(first, places), std::max(std::min(first, places), std::min(last, places))};
}

}  // namespace diopi::operands
