/// The bias of a convolution and its gradient.
#pragma once

#include "kernels/cpu/norm_channels.hpp"

namespace diopi::cpu {

/// images[., c, .] += bias[c]. T is float or double.
template <class T>
void add_bias(const ChannelShape& shape, const T* bias, T* images);

/// grad_bias[c] = the sum of the images (N, C, ...) over all dimensions but the channels.
[[nodiscard]] diopiError_t bias_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_bias, const View& images);

}  // namespace diopi::cpu
