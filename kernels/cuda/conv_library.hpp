/// Convolutions by cuDNN, CUDA's library.
#pragma once

#include "kernels/cuda/view.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cuda {

enum class ConvPass : int64_t { kForward, kInputGradient, kWeightGradient };

/// The addend of a convolution's sums.
enum class ConvAddend : int64_t {
    kNone,  ///< nothing; the old values of the result are not read
    kOld,   ///< the old values of the result
    kBias,  ///< a number for each channel of a forward's out; the sum is rounded once
};

/// A convolution of dense tensors of one floating dtype, each row-major or with the channels last. Sums are float32, or
/// float64 for float64; float32 factors may be in TF32 (product/tf32.hpp). No size is 0.
struct Convolution {
    ConvPass pass = ConvPass::kForward;
    ConvAddend addend = ConvAddend::kNone;
    Dtype dtype = Dtype::float32;
    bool channels_last = false;
    operands::ConvShape shape;
};

/// Data of a convolution, aligned to kConvAlignment. `bias` is a run of the out's channels in the convolution's dtype,
/// or null.
struct ConvData {
    void *input, *weight, *out, *bias;
};
constexpr size_t kConvAlignment = 16;

/// diopiNoImplement if the library is missing, or has no algorithm for this dtype and layout that sums only the terms
/// of each element, in one order.
[[nodiscard]] diopiError_t find_convolution(std::string_view op, const Convolution& c);

/// Writes the pass's result (input, weight or out). diopiNoImplement also if the library refuses an algorithm that it
/// has proposed: then nothing is written, and find_convolution refuses the same convolution from now on.
[[nodiscard]] diopiError_t convolve(diopiContextHandle_t ctx, std::string_view op, const Convolution& c,
                                    const ConvData& data);

}  // namespace diopi::cuda
