#include "conformance/case_choice.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <string>
#include <vector>

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

TEST_CASE("generated cases are in the table's order of operators, whatever the number of threads that make them") {
    CaseChoice choice;
    choice.level = 2;
    choice.ops = *NameChoice::parse(std::vector<std::string>{"add", "attention*", "flip", "m*", "relu", "s*"});
    std::vector<std::string> expected, found;
    for (const Row& row : rows()) {
        if (!choice.ops.matches(row.op) || &row != rows_of(row.op).front()) continue;
        std::ranges::transform(hard_cases(row.op, choice.seed, 400), std::back_inserter(expected), &Case::id);
    }
    std::ranges::transform(generated_cases(choice, **find_backend("cpu")), std::back_inserter(found), &Case::id);
    CHECK(found.size() > 10'000);
    CHECK(found == expected);
}
