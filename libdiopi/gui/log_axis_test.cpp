#include "gui/log_axis.hpp"

#include <catch2/catch.hpp>

namespace diopi {

TEST_CASE("an axis has places between its ends, and powers of ten on it", "[gui]") {
    const LogAxis axis{0.1, 1000};
    CHECK(axis.place(0.1) == Approx(0));
    CHECK(axis.place(10) == Approx(0.5));
    CHECK(axis.place(1e9) == Approx(1));
    CHECK(axis.place(0) == Approx(0));
    CHECK(axis.powers(9).size() == 5);
    const std::vector<double> few = axis.powers(3);
    REQUIRE(few.size() == 3);
    CHECK(few[1] == Approx(10));
    CHECK(LogAxis{2, 50}.powers(9).size() == 1);
}

}  // namespace diopi
