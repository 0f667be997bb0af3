#include "replay/delta_debugging.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace diopi {

namespace {

/// A replay that passes when every faulty unit falls back.
DeltaDebuggingOptions all_of(size_t units, UnitSet to_blame) {
    DeltaDebuggingOptions options;
    options.units = units;
    options.replay = [to_blame = std::move(to_blame)](const UnitSet& fallback) -> Result<Trial> {
        if (std::ranges::includes(fallback, to_blame)) return Trial{true, ""};
        return Trial{false, "differs"};
    };
    return options;
}

DeltaDebugging found(const DeltaDebuggingOptions& options) {
    auto result = run_delta_debugging(options);
    REQUIRE(result.ok());
    return *result;
}

}  // namespace

TEST_CASE("a single unit at fault is found at every position, with a logarithmic number of replays",
          "[run][delta_debugging]") {
    for (const size_t units : {1, 2, 3, 7, 64, 500}) {
        const double most = std::ceil(std::log2(units)) + 7;
        for (size_t unit = 0; unit < units; ++unit) {
            const DeltaDebugging result = found(all_of(units, {unit}));
            CHECK(result.end == DeltaDebugging::End::kFound);
            CHECK(result.set == UnitSet{unit});
            CHECK(result.replays <= most);
        }
    }
}

TEST_CASE("interacting units are found together", "[run][delta_debugging]") {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        const size_t units = 2 + random() % 200;
        UnitSet wanted = {random() % units, random() % units, random() % units};
        std::ranges::sort(wanted);
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        const DeltaDebugging result = found(all_of(units, wanted));
        CHECK(result.end == DeltaDebugging::End::kFound);
        CHECK(result.set == wanted);
    }
}

TEST_CASE("one of two units is enough if either helps", "[run][delta_debugging]") {
    DeltaDebuggingOptions options;
    options.units = 20;
    options.replay = [](const UnitSet& fallback) -> Result<Trial> {
        const bool helped = std::ranges::count(fallback, size_t{4}) + std::ranges::count(fallback, size_t{17}) > 0;
        return Trial{helped, "differs"};
    };
    CHECK(found(options).set.size() == 1);
}

TEST_CASE("the controls of an earlier search are not repeated", "[run][delta_debugging]") {
    DeltaDebuggingOptions options = all_of(16, {5});
    int controls = 0;
    const auto replay = options.replay;
    options.replay = [&](const UnitSet& fallback) {
        controls += fallback.empty() || fallback.size() == 16 ? 1 : 0;
        return replay(fallback);
    };
    options.controlled = true;
    CHECK(found(options).set == UnitSet{5});
    CHECK(controls == 0);
}

TEST_CASE("a search that uses all its replays gives the first units at fault", "[run][delta_debugging]") {
    DeltaDebuggingOptions options = all_of(64, {3, 9, 20, 21, 40, 60});
    options.most_replays = 20;
    const DeltaDebugging result = found(options);
    CHECK(result.end == DeltaDebugging::End::kTooMany);
    CHECK(result.replays == 20);
    CHECK(result.set == UnitSet{3, 9});
}

TEST_CASE("a replay that passes without fallback has no unit at fault", "[run][delta_debugging]") {
    const DeltaDebugging result = found(all_of(9, {}));
    CHECK(result.end == DeltaDebugging::End::kNothingWrong);
    CHECK(result.set.empty());
    CHECK_FALSE(result.flaky);
}

TEST_CASE("a failure with fallback of all units has another cause", "[run][delta_debugging]") {
    const DeltaDebugging result = found(all_of(9, {9}));
    CHECK(result.end == DeltaDebugging::End::kElsewhere);
    CHECK(result.reason == "differs");
}

TEST_CASE("a flaky fault is found", "[run][delta_debugging]") {
    std::mt19937 random(3);
    int right = 0;
    for (int round = 0; round < 50; ++round) {
        DeltaDebuggingOptions options = all_of(60, {37});
        options.replay = [&](const UnitSet& fallback) -> Result<Trial> {
            const bool helped = std::ranges::count(fallback, size_t{37}) > 0;
            return Trial{helped || random() % 10 < 3, "differs"};
        };
        const DeltaDebugging result = found(options);
        right += result.set == UnitSet{37} ? 1 : 0;
    }
    CHECK(right >= 45);
}

TEST_CASE("a unit whose fallback makes others fail does not hide the passing set", "[run][delta_debugging]") {
    DeltaDebuggingOptions options;
    options.units = 8;
    options.replay = [](const UnitSet& fallback) -> Result<Trial> {
        const auto has = [&](size_t unit) { return std::ranges::count(fallback, unit) > 0; };
        // The fallback of 6 helps; that of 1 makes it fail unless 2 falls back, too.
        return Trial{has(6) && (!has(1) || has(2)), "differs"};
    };
    const DeltaDebugging result = found(options);
    const bool passes = options.replay(result.set)->passed;
    CHECK(passes);
}

TEST_CASE("an error of a replay, and an interruption, end the search", "[run][delta_debugging]") {
    DeltaDebuggingOptions options = all_of(9, {3});
    int replays = 0;
    const auto good = options.replay;
    options.replay = [&](const UnitSet& set) -> Result<Trial> {
        if (++replays == 4) return failed("the disk is full");
        return good(set);
    };
    const auto result = run_delta_debugging(options);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message == "the disk is full");

    options.replay = good;
    options.interrupted = [] { return true; };
    CHECK(found(options).end == DeltaDebugging::End::kInterrupted);
}

}  // namespace diopi
