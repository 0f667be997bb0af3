#include "journal/case_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace diopi {

TEST_CASE("case ids are in natural order", "[store][order]") {
    const std::vector<std::string> ordered = {"ops/add.add.2",       "ops/add.add.9",       "ops/add.add.10",
                                              "ops/add.add.010",     "ops/add.add.10.1",    "ops/add.addcmul.0",
                                              "ops/conv2d.conv2d.0", "ops/conv2d.conv3d.0", "resnet50/a.b.1"};
    std::vector<std::string> ids = ordered;
    std::ranges::sort(ids, std::greater<>());
    std::ranges::sort(ids, natural_less);
    // "10" and "010" are the same number, so the text decides: the shorter one comes later.
    std::vector<std::string> wanted = ordered;
    std::swap(wanted[2], wanted[3]);
    CHECK(ids == wanted);
    CHECK_FALSE(natural_less("a.1", "a.1"));
}

}  // namespace diopi
