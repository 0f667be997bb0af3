/// Convolutions by the library that CUDA has for them, cuDNN.
#pragma once

#include "kernels/cuda/view.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cuda {

enum class ConvPass : int64_t { kForward, kInputGradient, kWeightGradient };

/// A convolution of dense tensors, all of one floating dtype, each in the order of its shape or with the channels last.
/// Sums are float32, or float64 for float64; float32 factors may be in TF32 (product/tf32.hpp). No size is 0.
struct Convolution {
    ConvPass pass = ConvPass::kForward;
    Dtype dtype = Dtype::float32;
    bool channels_last = false;
    operands::ConvShape shape;
};

/// diopiNoImplement where the library is missing, or has no algorithm that sums each element's own terms, in one order,
/// for this dtype and layout.
[[nodiscard]] diopiError_t find_convolution(std::string_view op, const Convolution& c);

/// Of input, weight and out the one that the pass is about is written: its old values times beta plus the result. With
/// beta = 0 they are not read. diopiNoImplement also where the library refuses what it has proposed: nothing is written
/// then, and find_convolution refuses the same from now on.
[[nodiscard]] diopiError_t convolve(diopiContextHandle_t ctx, std::string_view op, const Convolution& c, void* input,
                                    void* weight, void* out, double beta);

}  // namespace diopi::cuda
