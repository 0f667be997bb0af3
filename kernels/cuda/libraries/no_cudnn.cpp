/// For a build that did not find cuDNN's header.
#include "kernels/cuda/conv_library.hpp"

namespace diopi::cuda {

diopiError_t find_convolution(std::string_view op, const Convolution&) {
    return fail(diopiNoImplement,
                std::string(op) + ": this build has no cuDNN: build where cudnn.h of cuDNN 9 is in the CUDA toolkit");
}

diopiError_t convolve(diopiContextHandle_t, std::string_view op, const Convolution& c, const ConvData&) {
    return find_convolution(op, c);
}

}  // namespace diopi::cuda
