#include "runtime/cuda/nvml.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("reasons that slow a GPU are distinguished from intended ones") {
    CHECK(slowdown_text(0) == "");
    CHECK(slowdown_text(0x01 | 0x02 | 0x10 | 0x100) == "");  // idle, clocks that somebody set, boost of a group
    CHECK(slowdown_text(0x04) == "power limit");
    CHECK(slowdown_text(0x08 | 0x40) == "hardware slowdown, too hot");
    CHECK(slowdown_text(0x20 | 0x40 | 0x80) == "too hot, power brake");
}

TEST_CASE("without a GPU there is no reason for a slowdown") { CHECK(nvml_slowdown("ffff:ff:ff.f") == ""); }
