#include "timing/crowding.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("a core is crowded if the probe takes longer than its minimum") {
    double takes = 30e-6;
    Crowding crowding(0, [&](Crowding::Of) { return takes; });
    CHECK(crowding.quietest() == 0);
    CHECK(crowding.measure(Crowding::Of::kThread) == 30e-6);
    CHECK_FALSE(crowding.is_crowded(30e-6));
    CHECK_FALSE(crowding.is_crowded(31e-6));
    CHECK(crowding.is_crowded(45e-6));
    takes = 40e-6;
    CHECK(crowding.measure(Crowding::Of::kThread) == 40e-6);
    CHECK(crowding.quietest() == 30e-6);
    takes = 20e-6;
    crowding.measure(Crowding::Of::kThread);
    CHECK(crowding.is_crowded(30e-6));
}

TEST_CASE("the minimum of another process counts from the start") {
    Crowding crowding(20e-6, [](Crowding::Of) { return 30e-6; });
    CHECK(crowding.is_crowded(crowding.measure(Crowding::Of::kThread)));
}

TEST_CASE("the probe is short and takes some time") {
#ifdef __SANITIZE_ADDRESS__
    constexpr double kShort = 1e-2;  // its code is checked
#else
    constexpr double kShort = 1e-3;
#endif
    Crowding crowding;
    for (const auto of : {Crowding::Of::kThread, Crowding::Of::kAll}) {
        double shortest = 1;
        for (int i = 0; i < 20; ++i) shortest = std::min(shortest, crowding.measure(of));
        CHECK(shortest > 1e-6);
        // All threads must start together, so a busy machine may make them wait.
        if (of == Crowding::Of::kThread) CHECK(shortest < kShort);
    }
}
