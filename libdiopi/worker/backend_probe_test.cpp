#include "worker/backend_probe.hpp"

#include <catch2/catch.hpp>
#include <csignal>

namespace diopi {
namespace {

Status works() { return {}; }
Status is_missing() { return bad_input("there is no such chip"); }
Status crashes() {
    std::raise(SIGKILL);
    return {};
}

Backend probed(Backend::Probe probe) { return {"chip", cpu_device(), {}, probe, nullptr}; }

}  // namespace

TEST_CASE("a backend without a probe, and one with its device, can run") {
    CHECK(probe_backend(Backend("chip", cpu_device(), {}), 10).ok());
    CHECK(probe_backend(probed(works), 10).ok());
}

TEST_CASE("a backend whose device is missing or crashes is bad input, with the reason") {
    const Status missing = probe_backend(probed(is_missing), 10);
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().code == Errc::kBadInput);
    CHECK(missing.message() == "chip cannot run here: there is no such chip");
    const Status crashed = probe_backend(probed(crashes), 10);
    REQUIRE_FALSE(crashed.ok());
    CHECK_THAT(crashed.message(), Catch::Contains("SIGKILL"));
}

}  // namespace diopi
