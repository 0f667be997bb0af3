#include "timing/roofs.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "timing/launch_testing.hpp"

namespace diopi {

namespace {

using testing::LaunchBackend;

constexpr Dtype kFloat[] = {Dtype::float32};

}  // namespace

TEST_CASE("roofs of a device with its own clock do not include launches", "[run][roofs]") {
    LaunchBackend launching;
    launching.device.copies = false;
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

TEST_CASE("a device's own copies are measured for the roof", "[run][roofs]") {
    LaunchBackend launching;
    std::set<size_t> sizes;
    launching.device.on_copy = [&](void* dst, const void* src, size_t nbytes) {
        CHECK(dst != src);
        sizes.insert(nbytes);
    };
    launching.device.copy_s = LaunchBackend::kElementwise / 3;
    const auto fast = measure_roofs(launching.backend(), {});
    REQUIRE(fast.ok());
    REQUIRE(fast->copies.size() >= 5);
    for (const Roofs::Copy& copy : fast->copies) {
        CHECK(copy.rate == Approx(static_cast<double>(copy.bytes) / launching.device.copy_s).epsilon(0.01));
        CHECK(sizes.contains(static_cast<size_t>(copy.bytes / 2)));
    }
    launching.device.copies = false;
    const auto without = measure_roofs(launching.backend(), {});
    REQUIRE(without.ok());
    CHECK(without->copies[0].rate < 0.5 * fast->copies[0].rate);
    CHECK(without->copies[0].rate > 0);
}

}  // namespace diopi
