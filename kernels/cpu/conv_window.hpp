/// Images and the windows that slide over them: what convolution and pooling share.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/onednn_staging.hpp"

namespace diopi::cpu {

using Pair = std::array<int64_t, 2>;

/// Two numbers for height and width: one number serves both, an empty list gives `missing`.
[[nodiscard]] inline Pair pair_of(diopiSize_t list, Pair missing) {
    if (list.data == nullptr || list.len == 0) return missing;
    return {list.data[0], list.data[list.len > 1 ? 1 : 0]};
}

/// A tensor (N,C,H,W), or (C,H,W) seen as N = 1.
class Images {
 public:
    explicit Images(const View& tensor) : view_(tensor) {
        const size_t added = tensor.rank() == 3 ? 1 : 0;
        if (added == 1) shape_[0] = 1;
        for (size_t d = added; d < 4 && d - added < tensor.shape.size(); ++d) {
            shape_[d] = tensor.shape[d - added];
            strides_[d] = tensor.strides[d - added];
        }
        view_.shape = shape_;
        view_.strides = strides_;
    }
    Images(const Images&) = delete;
    Images& operator=(const Images&) = delete;

    [[nodiscard]] static bool fits(const View& tensor) { return tensor.rank() == 3 || tensor.rank() == 4; }
    [[nodiscard]] const View& view() const { return view_; }
    [[nodiscard]] Layout layout() const { return layout_of(view_); }
    [[nodiscard]] int64_t count() const { return shape_[0]; }
    [[nodiscard]] int64_t channels() const { return shape_[1]; }
    [[nodiscard]] int64_t height() const { return shape_[2]; }
    [[nodiscard]] int64_t width() const { return shape_[3]; }
    [[nodiscard]] int64_t area() const { return shape_[2] * shape_[3]; }

 private:
    std::array<int64_t, 4> shape_{}, strides_{};
    View view_;
};

/// Kernel size, stride, padding and dilation in both directions.
struct Window {
    Pair kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};

    [[nodiscard]] bool sound() const {
        for (size_t d = 0; d < 2; ++d) {
            if (kernel[d] <= 0 || stride[d] <= 0 || padding[d] < 0 || dilation[d] <= 0) return false;
        }
        return true;
    }
    /// Elements from the first to the last one under the window, along direction d.
    [[nodiscard]] int64_t extent(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
    /// Windows along a side of `size` elements; 0 or less when none fits. ceil_mode counts a last partial one, unless
    /// it starts beyond the elements and the padding before them.
    [[nodiscard]] int64_t places(size_t d, int64_t size, bool ceil_mode = false) const {
        const int64_t room = size + 2 * padding[d] - extent(d);
        if (room < 0 && !(ceil_mode && room + stride[d] > 0)) return 0;
        int64_t count = (room + (ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
        if (ceil_mode && (count - 1) * stride[d] >= size + padding[d]) --count;
        return count;
    }
};

/// Places p in [0, places) whose element p * stride + offset lies in [0, size), as [first, last).
struct Span {
    int64_t first = 0, last = 0;
};
[[nodiscard]] inline Span inside(int64_t places, int64_t stride, int64_t offset, int64_t size) {
    const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t last = size - offset <= 0 ? 0 : (size - offset + stride - 1) / stride;
    return {std::min(first, places), std::max(std::min(first, places), std::min(last, places))};
}

}  // namespace diopi::cpu
