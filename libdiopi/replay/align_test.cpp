#include "replay/align.hpp"

#include <catch2/catch.hpp>
#include <cctype>
#include <string>
#include <utility>

namespace diopi {

namespace {

/// Pairs as letters, gaps as dashes: "ab-" over "a-c". Equal letters correspond for certain, letters that differ only
/// in their case perhaps.
std::pair<std::string, std::string> drawn_pair(const std::string& one, const std::string& other) {
    const auto similarity = [&](size_t i, size_t j) -> uint32_t {
        if (one[i] == other[j]) return kCertain;
        return std::tolower(one[i]) == std::tolower(other[j]) ? 1 : 0;
    };
    std::pair<std::string, std::string> lines;
    for (const Aligned& step : align(one.size(), other.size(), similarity)) {
        lines.first += step.one ? one[*step.one] : '-';
        lines.second += step.other ? other[*step.other] : '-';
    }
    return lines;
}

using Lines = std::pair<std::string, std::string>;

}  // namespace

TEST_CASE("equal sequences correspond element by element", "[run][align]") {
    CHECK(drawn_pair("abc", "abc") == Lines("abc", "abc"));
    CHECK(drawn_pair("", "") == Lines("", ""));
}

TEST_CASE("an element of only one sequence has no partner in the alignment", "[run][align]") {
    CHECK(drawn_pair("abcd", "abd") == Lines("abcd", "ab-d"));
    CHECK(drawn_pair("abd", "abxyd") == Lines("ab--d", "abxyd"));
    CHECK(drawn_pair("", "ab") == Lines("--", "ab"));
    CHECK(drawn_pair("aXbYc", "abc") == Lines("aXbYc", "a-b-c"));
}

TEST_CASE("sequences without an equal element have no pair", "[run][align]") {
    CHECK(drawn_pair("ab", "xy") == Lines("ab--", "--xy"));
}

TEST_CASE("a weak similarity pairs elements that have no better partner", "[run][align]") {
    CHECK(drawn_pair("aBc", "abc") == Lines("aBc", "abc"));
    CHECK(drawn_pair("abc", "aBbc") == Lines("a-bc", "aBbc"));
    CHECK(drawn_pair("abc", "abBc") == Lines("ab-c", "abBc"));
    // One certain pair outweighs many doubtful ones.
    CHECK(drawn_pair("xAAA", "aaax") == Lines("---xAAA", "aaax---"));
}

TEST_CASE("beyond the limit only certain elements at both ends are paired", "[run][align]") {
    const std::string many(9000, 'm'), more(9000, 'M');
    const auto [one, other] = drawn_pair("a" + many + "z", "a" + more + "z");
    CHECK(one.size() == 2 + 18000);
    CHECK(one.front() == 'a');
    CHECK(other.back() == 'z');
    CHECK(one[1] == 'm');
    CHECK(other[1] == '-');
}

}  // namespace diopi
