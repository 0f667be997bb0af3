/// The arguments of functions of images, checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/window.hpp"

namespace diopi::operands {

/// An image in two sizes, (N, C, sides) each. The gradient goes from `out` to `in`.
struct Resizing {
    size_t sides = 0;
    Images in, out;
};

/// Refuses images of other than floating dtypes, ranks or sides, and an out of other sides than `size`: one number for
/// all sides, or one for each.
[[nodiscard]] diopiError_t read_resize(std::string_view op, const View& out, const View& input, diopiSize_t size,
                                       Resizing& resizing);
/// The same for the gradient; refuses a grad_input of another shape than in_size.
[[nodiscard]] diopiError_t read_resize_backward(std::string_view op, const View& grad_input, const View& grad_output,
                                                diopiSize_t out_size, diopiSize_t in_size, Resizing& resizing);
/// Refuses a mode that does not resize images of so many sides; the modes are linear, bilinear, trilinear and bicubic.
[[nodiscard]] diopiError_t read_mode(std::string_view op, const char* mode, size_t sides, bool& is_cubic);

/// Refuses an image (N, C, H, W) or (N, C, D, H, W), a grid (N, *, 2 or 3) and an out (N, C, *) that do not fit
/// together, and a mode without a meaning.
[[nodiscard]] diopiError_t read_grid(std::string_view op, const View& out, const View& input, const View& grid,
                                     std::string_view mode);
/// Refuses an image (N, C, H, W), regions (K, 5) and their pooled tensor (K, C, height, width) that do not fit
/// together. `of` names the image and the pooled tensor.
struct RegionNames {
    std::string_view image, pooled;
};
[[nodiscard]] diopiError_t read_regions(std::string_view op, RegionNames of, const View& image, const View& rois,
                                        const View& pooled, int64_t height, int64_t width);
/// Refuses boxes other than (N, 4) and scores other than (N).
[[nodiscard]] diopiError_t read_boxes(std::string_view op, const View& boxes, const View& confidence);

}  // namespace diopi::operands
