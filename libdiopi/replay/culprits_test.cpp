#include "replay/culprits.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace diopi {

namespace {

/// A replay that passes when every culprit falls back.
CulpritOptions all_of(size_t units, UnitSet culprits) {
    CulpritOptions options;
    options.units = units;
    options.replay = [culprits = std::move(culprits)](const UnitSet& fallback) -> Result<Trial> {
        if (std::ranges::includes(fallback, culprits)) return Trial{true, ""};
        return Trial{false, "differs"};
    };
    return options;
}

Culprits found(const CulpritOptions& options) {
    auto culprits = find_culprits(options);
    REQUIRE(culprits.ok());
    return *culprits;
}

}  // namespace

TEST_CASE("a single culprit is found at every place, in a logarithm of replays", "[run][culprits]") {
    for (const size_t units : {1, 2, 3, 7, 64, 500}) {
        const double most = std::ceil(std::log2(units)) + 7;
        for (size_t culprit = 0; culprit < units; ++culprit) {
            const Culprits culprits = found(all_of(units, {culprit}));
            CHECK(culprits.end == Culprits::End::kFound);
            CHECK(culprits.set == UnitSet{culprit});
            CHECK(culprits.replays <= most);
        }
    }
}

TEST_CASE("interacting culprits are found together", "[run][culprits]") {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        const size_t units = 2 + random() % 200;
        UnitSet wanted = {random() % units, random() % units, random() % units};
        std::ranges::sort(wanted);
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        const Culprits culprits = found(all_of(units, wanted));
        CHECK(culprits.end == Culprits::End::kFound);
        CHECK(culprits.set == wanted);
    }
}

TEST_CASE("one of two units is enough where either helps", "[run][culprits]") {
    CulpritOptions options;
    options.units = 20;
    options.replay = [](const UnitSet& fallback) -> Result<Trial> {
        const bool helped = std::ranges::count(fallback, size_t{4}) + std::ranges::count(fallback, size_t{17}) > 0;
        return Trial{helped, "differs"};
    };
    CHECK(found(options).set.size() == 1);
}

TEST_CASE("what an earlier search controlled is not tried again", "[run][culprits]") {
    CulpritOptions options = all_of(16, {5});
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

TEST_CASE("a search that uses up its replays gives the first culprits", "[run][culprits]") {
    CulpritOptions options = all_of(64, {3, 9, 20, 21, 40, 60});
    options.most_replays = 20;
    const Culprits culprits = found(options);
    CHECK(culprits.end == Culprits::End::kTooMany);
    CHECK(culprits.replays == 20);
    CHECK(culprits.set == UnitSet{3, 9});
}

TEST_CASE("what passes without fallback has no culprit", "[run][culprits]") {
    const Culprits culprits = found(all_of(9, {}));
    CHECK(culprits.end == Culprits::End::kNothingWrong);
    CHECK(culprits.set.empty());
    CHECK_FALSE(culprits.flaky);
}

TEST_CASE("what fails though everything falls back is elsewhere", "[run][culprits]") {
    const Culprits culprits = found(all_of(9, {9}));
    CHECK(culprits.end == Culprits::End::kElsewhere);
    CHECK(culprits.reason == "differs");
}

TEST_CASE("a fault that shows now and then is found all the same", "[run][culprits]") {
    std::mt19937 random(3);
    int right = 0;
    for (int round = 0; round < 50; ++round) {
        CulpritOptions options = all_of(60, {37});
        options.replay = [&](const UnitSet& fallback) -> Result<Trial> {
            const bool helped = std::ranges::count(fallback, size_t{37}) > 0;
            return Trial{helped || random() % 10 < 3, "differs"};
        };
        const Culprits culprits = found(options);
        right += culprits.set == UnitSet{37} ? 1 : 0;
    }
    CHECK(right >= 45);
}

TEST_CASE("a unit whose fallback does harm does not hide what passes", "[run][culprits]") {
    CulpritOptions options;
    options.units = 8;
    options.replay = [](const UnitSet& fallback) -> Result<Trial> {
        const auto has = [&](size_t unit) { return std::ranges::count(fallback, unit) > 0; };
        // 6 helps; 1 spoils it unless 2 falls back as well.
        return Trial{has(6) && (!has(1) || has(2)), "differs"};
    };
    const Culprits culprits = found(options);
    const bool passes = options.replay(culprits.set)->passed;
    CHECK(passes);
}

TEST_CASE("an error of a replay, and an interruption, end the search", "[run][culprits]") {
    CulpritOptions options = all_of(9, {3});
    int replays = 0;
    const auto good = options.replay;
    options.replay = [&](const UnitSet& set) -> Result<Trial> {
        if (++replays == 4) return failed("the disk is full");
        return good(set);
    };
    const auto culprits = find_culprits(options);
    REQUIRE_FALSE(culprits.ok());
    CHECK(culprits.error().message == "the disk is full");

    options.replay = good;
    options.interrupted = [] { return true; };
    CHECK(found(options).end == Culprits::End::kInterrupted);
}

}  // namespace diopi
