#include "conformance/case_choice.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backend/backend.hpp"
#include "hard/hard_cases.hpp"

using namespace diopi;

TEST_CASE("an operator that has hard cases only can be chosen by its name, alone or beside others") {
    CaseChoice choice;
    choice.level = 2;
    choice.folder = DIOPI_SOURCE_DIR "/cases";
    const Backend& cpu = **find_backend("cpu");
    const auto choose = [&](const std::string& words) {
        choice.ops = *NameChoice::parse(std::vector<std::string>{words});
        return choose_cases(choice, cpu);
    };
    const auto alone = choose("root_mean_square_norm");
    REQUIRE(alone.ok());
    CHECK(std::ranges::all_of(*alone, [](const Case& c) { return c.suite == kHardSuite; }));
    const auto both = choose("root_mean_square_norm,rms_norm");
    REQUIRE(both.ok());
    CHECK(std::ranges::any_of(*both, [](const Case& c) { return c.suite != kHardSuite && c.op == "rms_norm"; }));
    CHECK(std::ranges::any_of(*both, [](const Case& c) { return c.op == "root_mean_square_norm"; }));
    CHECK_FALSE(choose("root_mean_square").ok());
    choice.level = 1;
    CHECK_FALSE(choose("root_mean_square_norm").ok());
}
