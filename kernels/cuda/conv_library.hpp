/// Convolutions by cuDNN, CUDA's library.
#pragma once

#include "kernels/cuda/view.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cuda {

enum class ConvPass : int64_t { kForward, kInputGradient, kWeightGradient };

/// A convolution of dense tensors of one floating dtype, each row-major or with the channels last. Sums are float32, or
/// float64 for float64; float32 factors may be in TF32 (product/tf32.hpp). No size is 0.
struct Convolution {
    ConvPass pass = ConvPass::kForward;
    Dtype dtype = Dtype::float32;
    bool channels_last = false;
    operands::ConvShape shape;
};

/// diopiNoImplement if the library is missing, or has no algorithm for this dtype and layout that sums only the terms
/// of each element, in one order.
[[nodiscard]] diopiError_t find_convolution(std::string_view op, const Convolution& c);

/// Writes the pass's result (input, weight or out): its old values times beta plus the sums. With beta = 0 the old
/// values are not read. diopiNoImplement also if the library refuses an algorithm that it has proposed: then nothing is
/// written, and find_convolution refuses the same convolution from now on.
[[nodiscard]] diopiError_t convolve(diopiContextHandle_t ctx, std::string_view op, const Convolution& c, void* input,
                                    void* weight, void* out, double beta);

}  // namespace diopi::cuda
