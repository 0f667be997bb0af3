#include <catch2/catch.hpp>

#include "kernels/cuda/conv_library.hpp"
#include "kernels/cuda/product/gemm.hpp"
#include "runtime/context.hpp"

namespace diopi::cuda {
namespace {

/// With a GPU calls work; without one the library's own first call fails, or the library is missing. A library of the
/// build's version must not lack a function.
void expect_all_functions(diopiError_t error, const std::string& first_call) {
    if (error == diopiSuccess) return;
    CHECK_THAT(last_error(), Catch::Contains(first_call) || Catch::Contains("LD_LIBRARY_PATH") ||
                                 Catch::Contains("this build has no"));
    CHECK_THAT(last_error(), !Catch::Contains("no function"));
}

TEST_CASE("cuDNN and cuBLASLt have every function that the backend uses, or are missing") {
    const diopiError_t found = find_convolution("diopiConvolution2d", {});
    expect_all_functions(found, "diopiConvolution2d: cudnnCreate: ");
    if (found == diopiSuccess) return;  // with it a product would run, which needs a context
    expect_all_functions(gemm(nullptr, "diopiMm", {}), "diopiMm: cublasLtCreate: ");
}

}  // namespace
}  // namespace diopi::cuda
