/// Exports the image kernels, which the functions of the standard call, under a C name for tests.
#include "kernels/cpu/image_kernels_testing.hpp"

#include "kernels/cuda/conv.hpp"
#include "kernels/cuda/pool.hpp"

extern "C" const diopi::testing::ImageKernels* cuda_on_host_image_kernels() {
    static constexpr diopi::testing::ImageKernels kKernels = IMAGE_KERNELS_OF(diopi::cuda);
    return &kKernels;
}
