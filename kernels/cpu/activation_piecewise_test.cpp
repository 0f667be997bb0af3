#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

diopiScalar_t number_of(double value) {
    diopiScalar_t scalar{};
    scalar.stype = diopi_dtype_float64;
    scalar.fval = value;
    return scalar;
}

}  // namespace

TEST_CASE("hardtanh rounds its bounds to the dtype, and is NaN where one is", "[cpu][activation]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const diopiScalar_t low = number_of(-0.3), high = number_of(1e9), none = number_of(nan);
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        const auto bound = tensor(dtype, {1}, {-0.3}), x = tensor(dtype, {3}, {-1, nan, 2});
        REQUIRE(cpu::diopiHardtanhInp(&context, x.get(), &low, &high) == diopiSuccess);
        INFO(name(dtype));
        CHECK(same(values(x), Values{values(bound)[0], nan, 2}));
        REQUIRE(cpu::diopiHardtanhInp(&context, x.get(), &low, &none) == diopiSuccess);
        CHECK(same(values(x), Values{nan, nan, nan}));
    }
    const auto bytes = tensor(Dtype::uint8, {3}, {0, 7, 255});
    REQUIRE(cpu::diopiHardtanhInp(&context, bytes.get(), &low, &high) == diopiSuccess);
    CHECK(same(values(bytes), Values{0, 7, 255}));
}

TEST_CASE("piecewise activations refuse what PyTorch does not take", "[cpu][activation]") {
    const diopiScalar_t one = number_of(1), down = number_of(-1);
    const auto x = blank(Dtype::float32, {3}), wide = blank(Dtype::float32, {1, 3}), whole = blank(Dtype::int32, {3});
    const auto truth = blank(Dtype::boolean, {3}), z = blank(Dtype::complex64, {3});
    CHECK(cpu::diopiHardtanhInp(&context, truth.get(), &down, &one) == diopiDtypeNotSupported);
    CHECK(cpu::diopiHardtanhInp(&context, z.get(), &down, &one) == diopiDtypeNotSupported);
    CHECK(cpu::diopiHardswish(&context, wide.get(), x.get()) == diopiErrorOccurred);
    CHECK(cpu::diopiHardswishInp(&context, whole.get()) == diopiDtypeNotSupported);
    CHECK(cpu::diopiLeakyReluInp(&context, whole.get(), &one) == diopiDtypeNotSupported);
    CHECK(cpu::diopiLeakyReluBackward(&context, x.get(), x.get(), x.get(), &down, true) == diopiErrorOccurred);
    CHECK(last_error().find("negative_slope") != std::string::npos);
}

TEST_CASE("hardswish keeps the largest numbers", "[cpu][activation]") {
    const double most = std::numeric_limits<float>::max();
    const auto x = tensor(Dtype::float32, {5}, {most, -most, 6, 3, -3});
    REQUIRE(cpu::diopiHardswishInp(&context, x.get()) == diopiSuccess);
    CHECK(same(values(x), Values{most, -0.0, 6, 3, -0.0}));
}
