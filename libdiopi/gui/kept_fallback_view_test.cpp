#include "gui/kept_fallback_view.hpp"

#include <catch2/catch.hpp>

namespace diopi {

TEST_CASE("a fallback costs its copies and the calls elsewhere, less the time on the device", "[gui]") {
    KeptFallback fallback;
    FallbackRow row;
    row.overload = "linear";
    row.calls = 3;
    row.in = {2, 100, 1};
    row.out = {1, 50, 2};
    row.device_seconds = 4;
    row.other_seconds = 8;
    fallback.record.rows = {row};
    fallback.record.changed = {{"loss", 1, 1, false}, {"logits", 1, 1, true}};
    KeptFallbackView view(fallback);
    CHECK(view.calls() == 3);
    CHECK(view.is_forced());
    CHECK(view.beyond() == 1);
    REQUIRE(view.costs().size() == 1);
    CHECK(view.costs()[0].copying.copies == 3);
    CHECK(view.costs()[0].seconds() == 11);
    CHECK(view.costs()[0].cost == 7);
    view.choose("loss");
    CHECK(view.costs().empty());
    CHECK(view.changed().size() == 1);
}

}  // namespace diopi
