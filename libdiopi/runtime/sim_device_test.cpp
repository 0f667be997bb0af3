#include "runtime/sim_device.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

namespace diopi {

namespace {

SimModel slow_model() {
    SimModel model;
    model.copy_latency_s = 1e-3;
    model.copy_bytes_per_s = 1e6;
    model.launch_s = 2e-3;
    model.slowdown = 3;
    model.memory_bytes = 5000;
    return model;
}

}  // namespace

TEST_CASE("a transfer takes latency and bytes by bandwidth, a kernel its launch and its time", "[runtime][sim]") {
    SimDevice device(slow_model());
    auto memory = device.allocate(2000);
    REQUIRE(memory.ok());
    const std::vector<char> sent(2000, 'x');
    std::vector<char> received(2000);
    auto start = device.create_event(), end = device.create_event();
    REQUIRE((*start)->record(nullptr).ok());
    REQUIRE(device.copy_to_device(nullptr, memory->get(), sent.data(), 2000).ok());
    CHECK(device.now() == Approx(3e-3));
    REQUIRE(device.copy_to_host(nullptr, received.data(), memory->get(), 2000).ok());
    CHECK(device.now() == Approx(6e-3));
    CHECK(received == sent);
    device.add_kernel(4e-3);
    CHECK(device.now() == Approx(20e-3));
    REQUIRE((*end)->record(nullptr).ok());
    CHECK(*(*end)->elapsed_ms_since(**start) == Approx(20));
}

TEST_CASE("a simulated device really waits on request", "[runtime][sim]") {
    SimModel model = slow_model();
    model.waits = true;
    SimDevice device(model);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) device.add_kernel(0);
    const double real = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(device.now() == Approx(20e-3));
    CHECK(real >= device.now());
}

TEST_CASE("the memory of a simulated device is limited and can be freed", "[runtime][sim]") {
    SimDevice device(slow_model());
    auto held = device.allocate(4000);
    REQUIRE(held.ok());
    CHECK(device.allocated_bytes() == 4000);
    const auto refused = device.allocate(1001);
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(refused.error().message,
               Catch::Matchers::Contains("sim is out of memory: 1001 bytes wanted, 1000 free"));
    held->reset();
    CHECK(device.allocated_bytes() == 0);
    CHECK(device.allocate(5000).ok());
    CHECK(device.info()->free_bytes == 5000);
    CHECK_FALSE(device.is_host());
}

}  // namespace diopi
