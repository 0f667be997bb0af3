/// The arguments of pools, checked, and their windows. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/window.hpp"

namespace diopi::operands {

/// The arguments of pooling that are not tensors. Each list holds one number for all sides, or one for each; an empty
/// stride means the kernel's size. Means have no dilation: its list is empty.
struct PoolArguments {
    diopiSize_t kernel, stride, padding, dilation;
    bool ceil_mode;
};

/// The tensors of a pool, as in its forward function: the gradient goes from `out` to `in`.
struct PoolImages {
    Images in, out;
    Images indices;  ///< places of maxima; without data where they are not wanted
    Window window;   ///< of maxima
};

/// Refuses an input that is not an image of a floating dtype, a window that makes no sense, and an out of another shape
/// than it gives. `indices` (null: they are not wanted) need an integer dtype that holds the places of a plane, and
/// out's shape.
[[nodiscard]] diopiError_t read_max_pool(std::string_view op, size_t sides, const View& out, const View* indices,
                                         const View& input, const PoolArguments& arguments, PoolImages& pool);
/// The same for the gradient, which has input's shape; grad_output has the shape of the pool's out.
[[nodiscard]] diopiError_t read_max_pool_backward(std::string_view op, size_t sides, const View& grad_input,
                                                  const View& grad_output, const View& input, const View& indices,
                                                  const PoolArguments& arguments, PoolImages& pool);

/// The same for means. Refuses a divisor of 0, which is null where the window's size divides.
[[nodiscard]] diopiError_t read_avg_pool(std::string_view op, size_t sides, const View& out, const View& input,
                                         const PoolArguments& arguments, const int64_t* divisor, PoolImages& pool);
[[nodiscard]] diopiError_t read_avg_pool_backward(std::string_view op, size_t sides, const View& grad_input,
                                                  const View& grad_output, const View& input,
                                                  const PoolArguments& arguments, const int64_t* divisor,
                                                  PoolImages& pool);

/// Refuses an input that is not an image of a floating dtype, an out of other sides than output_size (empty: those of
/// input), and planes without elements to take means of.
[[nodiscard]] diopiError_t read_adaptive_pool(std::string_view op, size_t sides, const View& out, const View& input,
                                              diopiSize_t output_size, PoolImages& pool);
[[nodiscard]] diopiError_t read_adaptive_pool_backward(std::string_view op, size_t sides, const View& grad_input,
                                                       const View& grad_output, const View& input, PoolImages& pool);
/// The same for maxima and the indices of their places (null: they are not wanted).
[[nodiscard]] diopiError_t read_adaptive_max(std::string_view op, size_t sides, const View& out, const View* indices,
                                             const View& input, diopiSize_t output_size, PoolImages& pool);
[[nodiscard]] diopiError_t read_adaptive_max_backward(std::string_view op, size_t sides, const View& grad_input,
                                                      const View& grad_output, const View& input, const View& indices,
                                                      PoolImages& pool);

}  // namespace diopi::operands
