/// oneDNN's convolutions in float32 and bfloat16: a description of the problem, and functions that run on raw memory.
#pragma once

#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

/// A convolution, how its operands lie in memory, and their dtype.
struct ConvProblem {
    ConvShape shape;
    Layout input = Layout::plain, weight = Layout::plain, out = Layout::plain;
    bool has_bias = false;
    dnnl::memory::data_type type = dnnl::memory::data_type::f32;
    /// The channels of the tensors that input and out are parts of; 0: they are whole tensors.
    int64_t input_stride = 0, out_stride = 0;

    [[nodiscard]] const Window& window() const { return shape.window; }
    /// Whether it is computed as one matrix product for each image. A convolution of 1 x 1 in plain layouts saves the
    /// reorders so (on an AMD EPYC 1.5 times as fast as the convolution primitive for 16 x 256 x 14 x 14 to 1024
    /// channels).
    [[nodiscard]] bool is_product() const;
};

/// Whether oneDNN's AMX kernels are right for a convolution, or for the gradient of its weight. Drawn shapes found
/// wrong ones in 2.6.3. On channels-last images, which a primitive may also choose, they accessed memory behind the
/// last element where a window's step is longer than the window. Gradients of weights had wrong elements where the
/// channels do not fill blocks of 16. On volumes they left elements unwritten or had wrong ones (3.2 crashed on some),
/// but not with channels that fill blocks, steps of 1, no dilation, and windows of which less than half is padding and
/// that are not larger than the volume.
[[nodiscard]] bool suits_amx(const ConvShape& shape, bool for_weight);

/// The memory of the operands. A bias is of the problem's dtype, too.
struct ConvMemory {
    const void *input, *weight, *bias;
    void* out;
};

/// out = bias + the correlation of input with weight. Where its bits would depend on the number of threads, and
/// `varies` is not null, it is not computed, and *varies becomes true.
[[nodiscard]] diopiError_t convolve(diopiContextHandle_t ctx, const ConvProblem& problem, const ConvMemory& memory,
                                    bool* varies = nullptr);
/// grad_input = the transposed convolution of grad_out with weight; the same.
[[nodiscard]] diopiError_t convolve_backward_input(diopiContextHandle_t ctx, const ConvProblem& problem,
                                                   const void* grad_out, const void* weight, void* grad_input,
                                                   bool* varies = nullptr);
/// grad_weight = the correlation of input with grad_out, in float32 for either dtype.
[[nodiscard]] diopiError_t correlate(diopiContextHandle_t ctx, const ConvProblem& problem, const void* grad_out,
                                     const void* input, float* grad_weight);

}  // namespace diopi::cpu
