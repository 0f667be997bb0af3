#include "run/roofs.hpp"

#include <catch2/catch.hpp>

#include "run/launch_testing.hpp"

namespace diopi {

namespace {

using testing::LaunchBackend;

constexpr Dtype kFloat[] = {Dtype::float32};

}  // namespace

TEST_CASE("roofs of a device with a clock of its own have no launch in them", "[run][roofs]") {
    const LaunchBackend launching;
    const auto roofs = measure_roofs(launching.backend(), kFloat);
    REQUIRE(roofs.ok());
    // The functions take the same time at any size.
    for (const Roofs::Copy& copy : roofs->copies) {
        const double at_best = static_cast<double>(copy.bytes) / LaunchBackend::kElementwise;
        CHECK(copy.rate < 1.001 * at_best);
        CHECK(copy.rate > 0.95 * at_best);
    }
    const double at_best = 2.0 * 4096 * 4096 * 4096 / LaunchBackend::kProduct;
    CHECK(matmul_roof(*roofs, Dtype::float32) < 1.001 * at_best);
    CHECK(matmul_roof(*roofs, Dtype::float32) > 0.95 * at_best);
}

}  // namespace diopi
