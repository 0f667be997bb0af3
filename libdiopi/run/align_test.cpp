#include "run/align.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

std::vector<std::string> letters(const std::string& text) {
    std::vector<std::string> keys;
    for (const char c : text) keys.emplace_back(1, c);
    return keys;
}

/// "ab-" over "a-c": pairs as letters, gaps as dashes.
std::pair<std::string, std::string> drawn(const std::string& one, const std::string& other) {
    std::pair<std::string, std::string> lines;
    for (const Aligned& step : align(letters(one), letters(other))) {
        lines.first += step.one ? one[*step.one] : '-';
        lines.second += step.other ? other[*step.other] : '-';
    }
    return lines;
}

}  // namespace

TEST_CASE("equal sequences correspond element by element", "[run][align]") {
    CHECK(drawn("abc", "abc") == std::pair<std::string, std::string>("abc", "abc"));
    CHECK(align({}, {}).empty());
}

TEST_CASE("what stands in one sequence alone stands alone in the alignment", "[run][align]") {
    CHECK(drawn("abcd", "abd") == std::pair<std::string, std::string>("abcd", "ab-d"));
    CHECK(drawn("abd", "abxyd") == std::pair<std::string, std::string>("ab--d", "abxyd"));
    CHECK(drawn("", "ab") == std::pair<std::string, std::string>("--", "ab"));
    CHECK(drawn("aXbYc", "abc") == std::pair<std::string, std::string>("aXbYc", "a-b-c"));
}

TEST_CASE("sequences that differ throughout have no pair", "[run][align]") {
    CHECK(drawn("ab", "xy") == std::pair<std::string, std::string>("ab--", "--xy"));
}

}  // namespace diopi
