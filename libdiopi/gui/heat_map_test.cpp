#include "gui/heat_map.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "check/oracle.hpp"

namespace diopi {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorPtr tensor_of(const Shape& shape, const std::vector<double>& values) {
    auto tensor = std::make_shared<Tensor>(make_host_tensor(shape, Dtype::float64));
    std::ranges::copy(values, tensor->data_as<double>());
    return tensor;
}

/// first, first + 1, first + 2, ...
TensorPtr counting(const Shape& shape, double first = 0) {
    std::vector<double> values(static_cast<size_t>(numel(shape)));
    std::iota(values.begin(), values.end(), first);
    return tensor_of(shape, values);
}

HeatMap difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
    const Shape shape = {static_cast<int64_t>(ours.size())};
    const BundleTensor tensor{"out", tensor_of(shape, ours), tensor_of(shape, theirs)};
    return heat_map(tensor, HeatSide::kDifference, first_slice(tensor));
}

}  // namespace

TEST_CASE("a heat map shows two dims of a tensor of any rank", "[gui]") {
    const BundleTensor tensor{"out", counting({2, 3, 4}), nullptr};
    const HeatMap last = heat_map(tensor, HeatSide::kOurs, {1, 2, {1, 0, 0}});
    CHECK(last.rows == 3);
    CHECK(last.columns == 4);
    CHECK(last.cells == std::vector<double>{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    CHECK(last.low == 12);
    CHECK(last.high == 23);
    const HeatMap turned = heat_map(tensor, HeatSide::kOurs, {2, 0, {0, 1, 0}});
    CHECK(turned.rows == 4);
    CHECK(turned.cells == std::vector<double>{4, 16, 5, 17, 6, 18, 7, 19});
    CHECK(flat_of(ShapeView(tensor.ours->shape), {2, 0, {0, 1, 0}}, 3, 1) == 19);
}

TEST_CASE("a heat map of one dim is a row, of none a cell, of no element empty", "[gui]") {
    const BundleTensor row{"out", counting({3}), nullptr};
    CHECK(heat_map(row, HeatSide::kOurs, first_slice(row)).cells == std::vector<double>{0, 1, 2});
    CHECK(heat_map(row, HeatSide::kOurs, first_slice(row)).rows == 1);
    const BundleTensor number{"out", counting({}, 7), nullptr};
    CHECK(heat_map(number, HeatSide::kOurs, first_slice(number)).cells == std::vector<double>{7});
    const BundleTensor nothing{"out", counting({3, 0}), nullptr};
    CHECK(heat_map(nothing, HeatSide::kOurs, first_slice(nothing)).cells.empty());
}

TEST_CASE("a large heat map keeps the largest element of each block with its sign", "[gui]") {
    std::vector<double> values(5 * 7, 1);
    values[1 * 7 + 1] = -9;
    values[4 * 7 + 6] = 3;
    const BundleTensor tensor{"out", tensor_of({5, 7}, values), nullptr};
    const HeatMap map = heat_map(tensor, HeatSide::kOurs, first_slice(tensor), 3);
    CHECK(map.block_rows == 2);
    CHECK(map.block_columns == 3);
    CHECK(map.rows == 3);
    CHECK(map.columns == 3);
    CHECK(map.cells == std::vector<double>{-9, 1, 1, 1, 1, 1, 1, 1, 3});
}

TEST_CASE("NaN and infinities are marked and leave the range of the others", "[gui]") {
    const BundleTensor tensor{"out", tensor_of({1, 6}, {5, kInfinity, 2, kNan, kInfinity, 3}), nullptr};
    const HeatMap map = heat_map(tensor, HeatSide::kOurs, first_slice(tensor), 3);
    CHECK(map.cells[0] == kInfinity);
    CHECK(std::isnan(map.cells[1]));
    CHECK(map.nans == 1);
    CHECK(map.infinities == 2);
    CHECK(map.low == 2);
    CHECK(map.high == 5);
}

TEST_CASE("the range of a difference is symmetric, and what is the same has none", "[gui]") {
    const HeatMap map = difference({1, kNan, kInfinity, 4, kInfinity, 5}, {3, kNan, kInfinity, kNan, -kInfinity, 2});
    CHECK(map.cells[0] == -2);
    CHECK(map.cells[1] == 0);
    CHECK(map.cells[2] == 0);
    CHECK(std::isnan(map.cells[3]));
    CHECK(map.cells[4] == kInfinity);
    CHECK(map.low == -3);
    CHECK(map.high == 3);
}

TEST_CASE("a heat map begins at the slice of the largest difference", "[gui]") {
    BundleTensor tensor{"out", counting({3, 2, 2}), counting({3, 2, 2})};
    CHECK(first_slice(tensor) == HeatSlice{1, 2, {0, 0, 0}});
    tensor.ours->data_as<double>()[6] += 0.5;
    CHECK(first_slice(tensor) == HeatSlice{1, 2, {1, 1, 0}});
    tensor.ours->data_as<double>()[9] = kNan;
    CHECK(first_slice(tensor) == HeatSlice{1, 2, {2, 0, 1}});
}

TEST_CASE("a difference needs both sides in one shape", "[gui]") {
    CHECK_FALSE(has_side({"out", nullptr, counting({2})}, HeatSide::kOurs));
    CHECK_FALSE(has_side({"out", nullptr, counting({2})}, HeatSide::kDifference));
    CHECK_FALSE(has_side({"out", counting({1, 2}), counting({2})}, HeatSide::kDifference));
    CHECK(has_side({"out", counting({2}), counting({2})}, HeatSide::kDifference));
}

TEST_CASE("the compared tensors of a bundle are its outputs by name", "[gui]") {
    Bundle bundle({Call(*find_row("diopiAdd")), {}});
    bundle.outputs = {{0, {{2}, Dtype::float32, {}}}};
    CHECK(tensors_of(bundle).empty());
    bundle.expected = {{0, tensor_of({2}, {1, 2})}};
    const auto without_ours = tensors_of(bundle);
    REQUIRE(without_ours.size() == 1);
    CHECK(without_ours[0].name == "out");
    CHECK(without_ours[0].ours == nullptr);
    bundle.actual = {{0, tensor_of({2}, {1, 4})}};
    const auto both = tensors_of(bundle);
    REQUIRE(both.size() == 1);
    CHECK(element_of(both[0], HeatSide::kDifference, 1) == 2);
}

}  // namespace diopi
