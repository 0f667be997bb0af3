#include "kernels/cuda/product/tf32.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

namespace diopi::cuda {
namespace {

bool is_in_a_new_thread() {
    bool is = false;
    std::thread([&] { is = is_in_tf32(Dtype::float32); }).join();
    return is;
}

TEST_CASE("cuda: TF32 is only for float32, and for the thread that requested it") {
    use_tf32(true);
    CHECK(is_in_tf32(Dtype::float32));
    CHECK_FALSE(is_in_tf32(Dtype::float64));
    CHECK_FALSE(is_in_tf32(Dtype::float16));
    CHECK_FALSE(is_in_a_new_thread());
    use_tf32(false);
    CHECK_FALSE(is_in_tf32(Dtype::float32));
}

TEST_CASE("cuda: the environment variable is the default for TF32") {
    setenv("DIOPI_TF32", "1", 1);
    CHECK(is_in_a_new_thread());
    setenv("DIOPI_TF32", "0", 1);
    CHECK_FALSE(is_in_a_new_thread());
    unsetenv("DIOPI_TF32");
}

}  // namespace
}  // namespace diopi::cuda
