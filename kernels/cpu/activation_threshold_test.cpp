#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("threshold keeps larger elements, and its gradient is 0 for the others") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64);
    diopiContext ctx(cpu_device());
    const double nan = std::nan("");
    const auto x = tensor({5}, dtype, {-1, 0.5, 0.75, 2, nan}), g = tensor({5}, dtype, {1, 2, 3, 4, 5});
    const auto y = unwritten({5}, dtype);
    diopiScalar_t limit{}, value{};
    limit.stype = value.stype = diopi_dtype_float64;
    limit.fval = 0.5;
    value.fval = -8;
    REQUIRE(cpu::diopiThreshold(&ctx, y.get(), x.get(), &limit, &value) == diopiSuccess);
    check_close(*y, {-8, -8, 0.75, 2, nan});
    REQUIRE(cpu::diopiThresholdBackward(&ctx, y.get(), g.get(), x.get(), &limit) == diopiSuccess);
    CHECK(values(*y) == Values{0, 0, 3, 4, 5});
}
