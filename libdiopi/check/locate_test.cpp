#include "check/locate.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace diopi;

namespace {

using Wrong = std::function<bool(const Shape& index, int64_t flat)>;

/// The elements of `shape` for which `wrong` holds.
std::vector<int64_t> wrong_elements(const Shape& shape, const Wrong& wrong) {
    std::vector<int64_t> mismatches;
    for (int64_t flat = 0; flat < numel(shape); ++flat) {
        Shape index(shape.size());
        int64_t rest = flat;
        for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
        if (wrong(index, flat)) mismatches.push_back(flat);
    }
    return mismatches;
}

std::string where(const Shape& shape, const Wrong& wrong) { return locate(shape, wrong_elements(shape, wrong)); }

using Picture = std::vector<std::string>;
Picture drawn(const Shape& shape, const Wrong& wrong) { return picture_of(shape, wrong_elements(shape, wrong)); }

}  // namespace

TEST_CASE("without wrong elements there is no place") { CHECK(locate(Shape{4, 4}, {}).empty()); }

TEST_CASE("single elements are named by their position") {
    CHECK(where({}, [](const Shape&, int64_t) { return true; }) == "the only element");
    CHECK(where({4, 5}, [](const Shape&, int64_t i) { return i == 19; }) == "last element");
    CHECK(where({4, 5}, [](const Shape&, int64_t i) { return i == 0; }) == "first element");
    CHECK(where({4, 5}, [](const Shape&, int64_t i) { return i == 7; }) == "one element");
}

TEST_CASE("a whole tensor, a row, a column and a batch are distinguished") {
    CHECK(where({4, 5}, [](const Shape&, int64_t) { return true; }) == "whole tensor");
    CHECK(where({8, 16}, [](const Shape& i, int64_t) { return i[0] == 3; }) == "row 3");
    CHECK(where({8, 16}, [](const Shape& i, int64_t) { return i[0] == 7; }) == "last row");
    CHECK(where({8, 16}, [](const Shape& i, int64_t) { return i[1] == 4; }) == "column 4");
    CHECK(where({8, 16}, [](const Shape& i, int64_t) { return i[1] == 15; }) == "last column");
    CHECK(where({4, 8, 16}, [](const Shape& i, int64_t) { return i[0] == 2; }) == "batch 2");
    CHECK(where({4, 8, 16}, [](const Shape& i, int64_t) { return i[0] == 1 && i[1] == 3; }) == "batch 1, row 3");
    CHECK(where({4, 9, 8, 16}, [](const Shape& i, int64_t) { return i[1] == 5; }) == "dim 1 position 5");
}

TEST_CASE("elements after the last full tile are found along a dimension and in the flat tensor") {
    CHECK(where({5, 100}, [](const Shape& i, int64_t) { return i[1] >= 96; }) ==
          "tail of the last tile of 8 columns (from 96)");
    CHECK(where({103, 6}, [](const Shape& i, int64_t) { return i[0] >= 96; }) ==
          "tail of the last tile of 8 rows (from 96)");
    CHECK(where({1000}, [](const Shape&, int64_t i) { return i >= 896; }) ==
          "tail of the last tile of 128 elements (from 896)");
    CHECK(where({9, 11}, [](const Shape&, int64_t i) { return i >= 96; }) != "scattered");
}

TEST_CASE("every n-th element, row or column is found") {
    CHECK(where({64}, [](const Shape&, int64_t i) { return i % 8 == 3; }) == "every 8th element, from 3");
    CHECK(where({5, 64}, [](const Shape& i, int64_t) { return i[1] % 32 == 31 || i[1] % 16 == 15; }) ==
          "every 16th column, from 15");
    CHECK(where({12, 7}, [](const Shape& i, int64_t) { return i[0] % 3 == 0; }) == "every 3rd row, from 0");
    CHECK(where({7, 11}, [](const Shape&, int64_t i) { return i % 4 == 2; }) == "every 4th element, from 2");
}

TEST_CASE("runs and few slices are found") {
    CHECK(where({10, 10}, [](const Shape&, int64_t i) { return i < 33; }) == "first 33 elements");
    CHECK(where({10, 10}, [](const Shape&, int64_t i) { return i >= 55; }) == "last 45 elements");
    CHECK(where({10, 10}, [](const Shape&, int64_t i) { return i >= 17 && i < 60; }) ==
          "elements 17 to 59 in row-major order");
    CHECK(where({64, 16}, [](const Shape& i, int64_t) { return i[0] == 3 || i[0] == 40; }) == "in 2 of 64 rows");
}

TEST_CASE("random positions make no pattern") {
    std::mt19937 bits(3);
    for (int trial = 0; trial < 50; ++trial) {
        const unsigned one_in = 3 + static_cast<unsigned>(trial) % 30;
        const std::string text = where({32, 48}, [&](const Shape&, int64_t) { return bits() % one_in == 0; });
        CHECK(text == "scattered");
    }
    CHECK(where({32, 48}, [&](const Shape&, int64_t) { return bits() % 50 != 0; }) == "nearly everywhere");
}

TEST_CASE("two stray elements in one of two rows are no row pattern") {
    CHECK(where({2, 1000}, [](const Shape&, int64_t i) { return i == 17 || i == 611; }) == "scattered");
}

TEST_CASE("a picture shows each element of a small tensor") {
    CHECK(drawn({}, [](const Shape&, int64_t) { return true; }) == Picture{"#"});
    CHECK(drawn({5}, [](const Shape&, int64_t i) { return i == 4; }) == Picture{"....#"});
    CHECK(drawn({2, 2, 3}, [](const Shape& i, int64_t) { return i[0] == 1 && i[2] == 0; }) ==
          Picture{"...", "...", "#..", "#.."});
    CHECK(drawn({2, 3}, [](const Shape&, int64_t) { return false; }).empty());
}

TEST_CASE("a picture of a large tensor has the share of wrong elements in its cells") {
    const Picture picture = drawn({100, 1000}, [](const Shape& i, int64_t) { return i[0] == 99 || i[1] >= 999; });
    REQUIRE(picture.size() == 15);  // 7 rows each, 2 in the last
    CHECK(picture[0] == std::string(62, '.') + "1");
    CHECK(picture[14] == std::string(62, '5') + "5");
    const Picture last = drawn({100, 1000}, [](const Shape& i, int64_t) { return i[0] >= 98 || i[1] == 992; });
    CHECK(last[14] == std::string(63, '#'));
    CHECK(last[0] == std::string(62, '.') + "1");
}
