#include "gui/kept_profile_view.hpp"

#include <catch2/catch.hpp>

#include "gui/figure_text.hpp"

namespace diopi {

namespace {

KeptCall timed(const std::string& name, double seconds, const std::string& layer = "",
               const std::string& phase = "forward") {
    KeptCall call;
    call.name = name;
    call.layer = layer;
    call.phase = phase;
    call.median = seconds;
    return call;
}

KeptCall counting_operations(const std::string& name, double seconds, double flops, double bytes, double roof) {
    KeptCall call = timed(name, seconds);
    call.flops = flops;
    call.bytes = bytes;
    call.roof = roof;
    return call;
}

/// A machine whose cache is ten times as fast as its memory.
KeptProfile measured(std::vector<KeptCall> calls) {
    KeptProfile profile;
    profile.copies = {{1 << 10, 1e11}, {1 << 30, 1e10}};
    profile.products = {{"float32", 1e12}, {"float16", 2e12}};
    profile.calls = std::move(calls);
    return profile;
}

}  // namespace

TEST_CASE("a roofline has the calls that count operations, under slopes and levels", "[gui]") {
    const KeptProfile profile = measured({counting_operations("mm", 3, 6e9, 1e9, 1), timed("copy", 1)});
    const auto roofline = roofline_of(profile);
    REQUIRE(roofline);
    CHECK(roofline->measured == 2);
    REQUIRE(roofline->points.size() == 1);
    CHECK(roofline->points[0].intensity == Approx(6));
    CHECK(roofline->points[0].rate == Approx(2e9));
    CHECK(roofline->points[0].share == Approx(0.75));
    REQUIRE(roofline->slopes.size() == 2);
    CHECK(roofline->slopes[0].title == "copies in memory");
    CHECK(roofline->slopes[0].to == Approx(200));
    CHECK(roofline->slopes[1].is_soft);
    CHECK(roofline->slopes[1].to == Approx(20));
    CHECK(roofline->levels[0].from == Approx(10));
    CHECK(roofline->rates.high == Approx(4e12));
}

TEST_CASE("without roofs, or without operations, there is no roofline", "[gui]") {
    CHECK_FALSE(roofline_of(measured({timed("copy", 1)})));
    KeptProfile without = measured({counting_operations("mm", 3, 6e9, 1e9, 1)});
    without.copies = {{1, 0}};
    CHECK_FALSE(roofline_of(without));
    without = measured(without.calls);
    without.products.clear();
    CHECK_FALSE(roofline_of(without));
}

TEST_CASE("a timeline has calls one after the other under boxes of their layers", "[gui]") {
    const KeptProfile profile =
        measured({timed("a", 1, "net.0"), timed("b", 2, "net.0"), timed("c", 4, "net.1"), timed("lost", 0, "net.1"),
                  timed("d", 8, ""), timed("e", 16, "net.1", "backward"), timed("f", 32, "network"),
                  timed("g", 64, "network", "backward")});
    const auto timeline = timeline_of(profile);
    REQUIRE(timeline);
    CHECK(timeline->lanes == 3);
    CHECK(timeline->seconds == 127);
    std::vector<std::string> boxes;
    for (const TimelineBox& box : timeline->boxes) {
        boxes.push_back(box.name + " " + std::to_string(box.lane) + " " + figure_text(box.from) + " " +
                        figure_text(box.to));
    }
    CHECK(boxes == std::vector<std::string>{"net 0 0 7", "net 0 15 31", "network 0 31 63", "network 0 63 127",
                                            "net.0 1 0 3", "net.1 1 3 7", "net.1 1 15 31", "a 2 0 1", "b 2 1 3",
                                            "c 2 3 7", "d 2 7 15", "e 2 15 31", "f 2 31 63", "g 2 63 127"});
    CHECK_FALSE(timeline_of(measured({timed("a", 1)})));
}

TEST_CASE("a profile's filter chooses calls by operator or layer, and shares stay those of the whole", "[gui]") {
    KeptCall failed = timed("roll", 0, "head");
    failed.median.reset();
    failed.error = "not implemented";
    KeptProfileView view(measured({counting_operations("mm", 3, 6e9, 1e9, 1), timed("add", 1, "head"), failed}), "");
    CHECK(view.measured() == 2);
    CHECK(view.seconds() == 4);
    CHECK(view.calls().size() == 3);
    REQUIRE(view.operators().size() == 2);
    CHECK(view.operators()[0].share == Approx(0.75));
    CHECK(view.operators()[0].of_roof == Approx(1.0 / 3));
    CHECK(view.operators()[1].of_roof == 0);
    view.choose("head");
    CHECK(view.calls().size() == 2);
    REQUIRE(view.operators().size() == 1);
    CHECK(view.operators()[0].name == "add");
    CHECK(view.operators()[0].share == Approx(0.25));
    CHECK_FALSE(view.shows(view.profile().calls[0]));
    const KeptProfileView moved = std::move(view);
    CHECK(moved.calls()[0] == &moved.profile().calls[1]);
}

TEST_CASE("ratios have places on a line from a quarter to four", "[gui]") {
    CHECK(ratio_place(1) == Approx(0.5));
    CHECK(ratio_place(0.5) == Approx(0.25));
    CHECK(ratio_place(100) == Approx(1));
    CHECK(ratio_place(std::nullopt) == 1);
    KeptCall faster = timed("add", 1);
    faster.ratio = KeptRatio{0.5, 0.25, std::nullopt, 2, "FASTER"};
    KeptCall unknown = timed("mul", 1);
    unknown.ratio = KeptRatio{};
    CHECK(KeptProfileView(measured({faster, unknown, timed("sub", 1)})).ratios().size() == 1);
}

}  // namespace diopi
