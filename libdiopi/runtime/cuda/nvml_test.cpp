#include "runtime/cuda/nvml.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("what makes a GPU slower is told from what is wanted") {
    CHECK(slowdown_text(0) == "");
    CHECK(slowdown_text(0x01 | 0x02 | 0x10 | 0x100) == "");  // idle, clocks that somebody set, boost of a group
    CHECK(slowdown_text(0x04) == "power limit");
    CHECK(slowdown_text(0x08 | 0x40) == "hardware slowdown, too hot");
    CHECK(slowdown_text(0x20 | 0x40 | 0x80) == "too hot, power brake");
}

TEST_CASE("without a GPU nothing slows down") { CHECK(nvml_slowdown("ffff:ff:ff.f") == ""); }
