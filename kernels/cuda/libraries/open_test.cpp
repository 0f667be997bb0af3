#include "kernels/cuda/libraries/open.hpp"

#include <catch2/catch.hpp>

#include "kernels/cuda/convolution.hpp"
#include "kernels/cuda/gemm.hpp"
#include "runtime/context.hpp"

namespace diopi::cuda {
namespace {

struct Mathematics {
    double (*cosine)(double) = nullptr;
    const char* second = "cos";

    void find_all(FunctionFinder& finder) {
        finder.find(cosine, "cos");
        decltype(cosine) other = nullptr;
        finder.find(other, second);
    }
};

struct Unknown : Mathematics {
    Unknown() { second = "no_such_function"; }
};

TEST_CASE("a library that is there gives its functions") {
    const OpenedLibrary<Mathematics> opened("libm.so.6");
    REQUIRE(opened.is_usable);
    CHECK(opened.functions.cosine(0.0) == 1.0);
}

TEST_CASE("a library that is missing is no error until it is used, and its name is in the reason") {
    const OpenedLibrary<Mathematics> opened("libdiopi_missing.so.9");
    CHECK_FALSE(opened.is_usable);
    CHECK_THAT(opened.why, Catch::Contains("libdiopi_missing.so.9"));
    CHECK_THAT(cannot_use("diopiMm", "libdiopi_missing.so.9", opened.why), Catch::Contains("LD_LIBRARY_PATH"));
}

TEST_CASE("a library without one of the functions is not used, and the function is named") {
    const OpenedLibrary<Unknown> opened("libm.so.6");
    CHECK_FALSE(opened.is_usable);
    CHECK_THAT(opened.why, Catch::Contains("no_such_function"));
}

/// Where a GPU is, calls work; elsewhere the library's own first call fails, or it is not there. What must not be: a
/// library of the build's version that lacks a function.
void expect_all_functions(diopiError_t error, const std::string& first_call) {
    if (error == diopiSuccess) return;
    CHECK_THAT(last_error(), Catch::Contains(first_call) || Catch::Contains("LD_LIBRARY_PATH") ||
                                 Catch::Contains("this build has no"));
    CHECK_THAT(last_error(), !Catch::Contains("no function"));
}

TEST_CASE("cuDNN and cuBLASLt have every function that is asked of them, or are not there") {
    const diopiError_t found = find_convolution("diopiConvolution2d", {});
    expect_all_functions(found, "diopiConvolution2d: cudnnCreate: ");
    if (found == diopiSuccess) return;  // a product would run, and needs a context
    expect_all_functions(gemm(nullptr, "diopiMm", {}), "diopiMm: cublasLtCreate: ");
}

}  // namespace
}  // namespace diopi::cuda
