#include "gui/figure_text.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace diopi {

TEST_CASE("figures have three digits and a prefix", "[gui]") {
    CHECK(scaled_text(1.5e9, "FLOP/s") == "1.5 GFLOP/s");
    CHECK(scaled_text(999.6, "B") == "1 kB");
    CHECK(scaled_text(12, "B") == "12 B");
    CHECK(share_text(0.1234) == "12.3%");
    CHECK(figure_text(0.00012345) == "0.000123");
    CHECK(figure_text(std::nullopt).empty());
}

TEST_CASE("a figure that lacks sorts first, NaN last", "[gui]") {
    const std::vector<std::optional<double>> sorted = {std::nullopt, -1, 2, HUGE_VAL, std::nan("")};
    for (size_t i = 0; i < sorted.size(); ++i) {
        for (size_t j = 0; j < sorted.size(); ++j) CHECK(figure_less(sorted[i], sorted[j]) == (i < j));
    }
}

}  // namespace diopi
