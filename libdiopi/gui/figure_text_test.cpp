#include "gui/figure_text.hpp"

#include <catch2/catch.hpp>

namespace diopi {

TEST_CASE("figures have three digits and a prefix", "[gui]") {
    CHECK(scaled_text(1.5e9, "FLOP/s") == "1.5 GFLOP/s");
    CHECK(scaled_text(999.6, "B") == "1 kB");
    CHECK(scaled_text(12, "B") == "12 B");
    CHECK(share_text(0.1234) == "12.3%");
    CHECK(figure_text(0.00012345) == "0.000123");
    CHECK(figure_text(std::nullopt).empty());
}

}  // namespace diopi
