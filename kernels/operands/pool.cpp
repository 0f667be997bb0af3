#include "kernels/operands/pool.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

/// Refuses dtypes other than the floating ones.
diopiError_t check_both(std::string_view op, std::string_view first, const View& a, std::string_view second,
                        const View& b) {
    const diopiError_t error = check_computable(op, first, a);
    return error != diopiSuccess ? error : check_computable(op, second, b);
}

/// Refuses a gradient of another shape than the input's.
diopiError_t check_gradient(std::string_view op, const View& grad_input, const View& input) {
    if (const diopiError_t error = check_computable(op, "grad_input", grad_input); error != diopiSuccess) return error;
    if (std::ranges::equal(grad_input.shape, input.shape)) return diopiSuccess;
    return wrong_shape(op, "grad_input", grad_input.shape, "that of input");
}

bool is_half_padded(const Window& w) {
    for (size_t side = 0; side < kMostSides; ++side) {
        if (2 * w.padding[side] > w.extent(side)) return false;
    }
    return true;
}

diopiError_t read_window(std::string_view op, size_t sides, const View& input, const View& out,
                         const PoolArguments& arguments, Window& window) {
    if (const diopiError_t error = check_both(op, "input", input, "out", out); error != diopiSuccess) return error;
    if (!Images::fits(sides, input)) return wrong_shape(op, "input", input.shape, image_shapes(sides));
    if (arguments.kernel.len == 0) return fail(diopiErrorOccurred, std::string(op) + ": kernel_size is empty");
    window.kernel = sides_of(sides, arguments.kernel, {1, 1, 1});
    window.stride = sides_of(sides, arguments.stride, window.kernel);
    window.padding = sides_of(sides, arguments.padding, {0, 0, 0});
    window.dilation = sides_of(sides, arguments.dilation, {1, 1, 1});
    if (!window.is_sound() || !is_half_padded(window)) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides and dilations of at least 1 and paddings "
                                            "of at most half the dilated kernel");
    }
    Shape wanted(input.shape.begin(), input.shape.end());
    for (size_t d = 0; d < sides; ++d) {
        int64_t& size = wanted[wanted.size() - sides + d];
        size = window.places(kMostSides - sides + d, size, arguments.ceil_mode);
    }
    return check_shape(op, "out", out, wanted);
}

diopiError_t check_indices(std::string_view op, size_t sides, const View& indices, const View& input, const View& out) {
    if (indices.dtype != Dtype::int64 && indices.dtype != Dtype::int32) {
        return unsupported(op, "indices", indices.dtype, "int64 or int32");
    }
    if (indices.dtype == Dtype::int32 && Images(sides, input).area() - 1 > std::numeric_limits<int32_t>::max()) {
        return unsupported(op, "indices", indices.dtype, "int64 for planes of so many elements");
    }
    return check_shape(op, "indices", indices, out.shape);
}

}  // namespace

diopiError_t read_max_pool(std::string_view op, size_t sides, const View& out, const View* indices, const View& input,
                           const PoolArguments& arguments, PoolImages& pool) {
    diopiError_t error = read_window(op, sides, input, out, arguments, pool.window);
    if (error == diopiSuccess && indices != nullptr) error = check_indices(op, sides, *indices, input, out);
    if (error != diopiSuccess) return error;
    pool.in = Images(sides, input), pool.out = Images(sides, out);
    if (indices != nullptr) pool.indices = Images(sides, *indices);
    return diopiSuccess;
}

diopiError_t read_max_pool_backward(std::string_view op, size_t sides, const View& grad_input, const View& grad_output,
                                    const View& input, const View& indices, const PoolArguments& arguments,
                                    PoolImages& pool) {
    diopiError_t error = read_window(op, sides, input, grad_output, arguments, pool.window);
    if (error == diopiSuccess) error = check_gradient(op, grad_input, input);
    if (error != diopiSuccess) return error;
    error = check_indices(op, sides, indices, input, grad_output);
    if (error != diopiSuccess) return error;
    pool.in = Images(sides, grad_input), pool.out = Images(sides, grad_output), pool.indices = Images(sides, indices);
    return diopiSuccess;
}

diopiError_t read_avg_pool(std::string_view op, size_t sides, const View& out, const View& input,
                           const PoolArguments& arguments, const int64_t* divisor, PoolImages& pool) {
    if (divisor != nullptr && *divisor == 0) return refuse(op, "divisor_override is 0, wanted another number");
    return read_max_pool(op, sides, out, nullptr, input, arguments, pool);
}

diopiError_t read_avg_pool_backward(std::string_view op, size_t sides, const View& grad_input, const View& grad_output,
                                    const View& input, const PoolArguments& arguments, const int64_t* divisor,
                                    PoolImages& pool) {
    diopiError_t error = read_avg_pool(op, sides, grad_output, input, arguments, divisor, pool);
    if (error == diopiSuccess) error = check_gradient(op, grad_input, input);
    if (error != diopiSuccess) return error;
    pool.in = Images(sides, grad_input);
    return diopiSuccess;
}

diopiError_t read_adaptive_pool(std::string_view op, size_t sides, const View& out, const View& input,
                                diopiSize_t output_size, PoolImages& pool) {
    if (const diopiError_t error = check_both(op, "input", input, "out", out); error != diopiSuccess) return error;
    if (!Images::fits(sides, input)) return wrong_shape(op, "input", input.shape, image_shapes(sides));
    pool.in = Images(sides, input);
    const Sides wanted_sides = sides_of(sides, output_size, pool.in.sides());
    Shape wanted(input.shape.begin(), input.shape.end());
    std::copy_n(wanted_sides.end() - static_cast<std::ptrdiff_t>(sides), sides,
                wanted.end() - static_cast<std::ptrdiff_t>(sides));
    if (const diopiError_t error = check_shape(op, "out", out, wanted); error != diopiSuccess) return error;
    if (out.numel > 0 && pool.in.area() == 0) return wrong_shape(op, "input", input.shape, "sides of at least 1");
    pool.out = Images(sides, out);
    return diopiSuccess;
}

diopiError_t read_adaptive_pool_backward(std::string_view op, size_t sides, const View& grad_input,
                                         const View& grad_output, const View& input, PoolImages& pool) {
    diopiError_t error = check_both(op, "grad_output", grad_output, "input", input);
    if (error == diopiSuccess) error = check_gradient(op, grad_input, input);
    if (error != diopiSuccess) return error;
    if (!Images::fits(sides, input)) return wrong_shape(op, "input", input.shape, image_shapes(sides));
    const size_t outer = input.shape.size() - sides;
    if (grad_output.shape.size() != input.shape.size() ||
        !std::ranges::equal(grad_output.shape.first(outer), input.shape.first(outer))) {
        return wrong_shape(op, "grad_output", grad_output.shape, "the outer dimensions of input");
    }
    pool.in = Images(sides, grad_input), pool.out = Images(sides, grad_output);
    return diopiSuccess;
}

diopiError_t read_adaptive_max(std::string_view op, size_t sides, const View& out, const View* indices,
                               const View& input, diopiSize_t output_size, PoolImages& pool) {
    diopiError_t error = read_adaptive_pool(op, sides, out, input, output_size, pool);
    if (error != diopiSuccess || indices == nullptr) return error;
    error = check_indices(op, sides, *indices, input, out);
    if (error == diopiSuccess) pool.indices = Images(sides, *indices);
    return error;
}

diopiError_t read_adaptive_max_backward(std::string_view op, size_t sides, const View& grad_input,
                                        const View& grad_output, const View& input, const View& indices,
                                        PoolImages& pool) {
    diopiError_t error = read_adaptive_pool_backward(op, sides, grad_input, grad_output, input, pool);
    if (error == diopiSuccess) error = check_indices(op, sides, indices, input, grad_output);
    if (error == diopiSuccess) pool.indices = Images(sides, indices);
    return error;
}

}  // namespace diopi::operands
