#include "hard/covering.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <tuple>

namespace diopi {

namespace {

std::vector<Combination> all_of(std::vector<size_t> levels, uint64_t seed, const std::vector<size_t>& deep = {},
                                const std::vector<FactorTriple>& late = {}) {
    CoveringArray array(std::move(levels), seed, deep, late);
    std::vector<Combination> rows;
    while (auto row = array.next()) rows.push_back(std::move(*row));
    return rows;
}

std::set<std::tuple<size_t, size_t, size_t, size_t>> pairs_of(const std::vector<Combination>& rows) {
    std::set<std::tuple<size_t, size_t, size_t, size_t>> pairs;
    for (const Combination& row : rows) {
        for (size_t f = 0; f < row.size(); ++f) {
            for (size_t g = f + 1; g < row.size(); ++g) pairs.insert({f, row[f], g, row[g]});
        }
    }
    return pairs;
}

}  // namespace

TEST_CASE("a covering array has every pair of levels, in few combinations") {
    const std::vector<size_t> levels = {3, 10, 28, 8, 8, 5, 1, 2};
    const auto rows = all_of(levels, 7);
    size_t pairs = 0;
    for (size_t f = 0; f < levels.size(); ++f) {
        for (size_t g = f + 1; g < levels.size(); ++g) pairs += levels[f] * levels[g];
    }
    CHECK(pairs_of(rows).size() == pairs);
    CHECK(rows.size() >= 280);
    CHECK(rows.size() < 340);
    for (const Combination& row : rows) {
        for (size_t f = 0; f < levels.size(); ++f) CHECK(row[f] < levels[f]);
    }
}

TEST_CASE("a covering array with deep factors has every triple of their levels after all pairs") {
    const std::vector<size_t> levels = {3, 10, 4, 8, 28, 5}, deep = {1, 3, 5};
    const auto shallow = all_of(levels, 7), rows = all_of(levels, 7, deep);
    REQUIRE(rows.size() > shallow.size());
    CHECK(std::equal(shallow.begin(), shallow.end(), rows.begin()));
    std::set<std::tuple<size_t, size_t, size_t>> triples;
    for (const Combination& row : rows) triples.insert({row[1], row[3], row[5]});
    CHECK(triples.size() == 10 * 8 * 5);
    CHECK(rows.size() < 600);
    const auto more = all_of(levels, 7, {0, 1, 3, 5});
    triples.clear();
    for (const Combination& row : more) triples.insert({row[0], row[3], row[5]});
    CHECK(triples.size() == 3 * 8 * 5);
    CHECK(more.size() < 800);
}

TEST_CASE("the late triples of a covering array follow the deep ones") {
    const std::vector<size_t> levels = {3, 10, 4, 8, 28, 5}, deep = {1, 3, 5};
    const auto before = all_of(levels, 7, deep), rows = all_of(levels, 7, deep, {{0, 1, 3}, {0, 1, 2}});
    REQUIRE(rows.size() > before.size());
    CHECK(std::equal(before.begin(), before.end(), rows.begin()));
    std::set<std::tuple<size_t, size_t, size_t>> first, second;
    for (const Combination& row : rows) {
        first.insert({row[0], row[1], row[3]});
        second.insert({row[0], row[1], row[2]});
    }
    CHECK(first.size() == 3 * 10 * 8);
    CHECK(second.size() == 3 * 10 * 4);
    CHECK(rows.size() < before.size() + 100);
}

TEST_CASE("the first combinations cover the most pairs") {
    const auto rows = all_of({4, 6, 10, 5, 5}, 3);
    const std::vector<Combination> first(rows.begin(), rows.begin() + 20);
    CHECK(pairs_of(first).size() > 190);  // of 200 that 20 combinations can have
}

TEST_CASE("a covering array depends on levels and seed alone") {
    CHECK(all_of({3, 4, 5}, 1) == all_of({3, 4, 5}, 1));
    CHECK(all_of({3, 4, 5}, 1) != all_of({3, 4, 5}, 2));
    CHECK(all_of({5}, 1).empty());
    CHECK(all_of({1, 1}, 1).size() == 1);
}

}  // namespace diopi
