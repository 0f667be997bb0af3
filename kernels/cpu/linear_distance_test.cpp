#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("the gradient of a large distance of order 1/2 is finite where its quotients are not", "[cdist]") {
    const double far = 1e308, near = 0.25;
    diopiContext ctx(cpu_device());
    const auto x = tensor({1, 2}, Dtype::float64, {far, near}), y = tensor({1, 2}, Dtype::float64, {0, 0});
    const auto distance = unwritten({1, 1}, Dtype::float64), grad = unwritten({1, 2}, Dtype::float64);
    const auto ones = tensor({1, 1}, Dtype::float64, {1});
    REQUIRE(cpu::diopiCdist(&ctx, distance.get(), x.get(), y.get(), 0.5, nullptr) == diopiSuccess);
    REQUIRE(cpu::diopiCdistBackward(&ctx, grad.get(), ones.get(), x.get(), y.get(), 0.5, distance.get()) ==
            diopiSuccess);
    const Values got = values(*grad);
    CHECK(got[0] == Approx(1));
    CHECK(got[1] == Approx(std::sqrt(far) / std::sqrt(near)));
}
