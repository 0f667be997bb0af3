#include <dlfcn.h>

#include "kernels/cpu/images_testing.hpp"

using namespace diopi::testing;

namespace {

const ImageKernels& kernels_on_host() {
    static void* const library = dlopen(DIOPI_CUDA_ON_HOST, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    const auto kernels = reinterpret_cast<const ImageKernels* (*)()>(dlsym(library, "cuda_on_host_image_kernels"));
    REQUIRE(kernels != nullptr);
    return *kernels();
}

}  // namespace

TEST_CASE("cuda on host: convolutions of one, two and three sides agree with the reference") {
    check_convolutions(kernels_on_host());
}

TEST_CASE("cuda on host: max pools of one, two and three sides agree with the reference") {
    check_max_pools(kernels_on_host());
}

TEST_CASE("cuda on host: adaptive means of one, two and three sides agree with the reference") {
    check_all_adaptive_means(kernels_on_host());
}
