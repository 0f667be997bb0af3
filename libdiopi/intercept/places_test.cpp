#include "intercept/places.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "runtime/device.hpp"

namespace diopi {

namespace {

template <class T>
TensorPtr tensor_of(const Shape& shape, Dtype dtype, const std::vector<T>& values) {
    auto made = make_tensor(cpu_device(), {shape, dtype, {}});
    REQUIRE(made.ok());
    std::ranges::copy(values, (*made)->data_as<T>());
    return *made;
}
TensorPtr float_tensor(const Shape& shape, const std::vector<float>& values) {
    return tensor_of(shape, Dtype::float32, values);
}

/// The places after they were settled with the expected ones.
std::vector<int64_t> settled(const Call& call, std::string_view arg, const Shape& shape,
                             const std::vector<int64_t>& actual, const std::vector<int64_t>& expected) {
    TensorPtr came = tensor_of(shape, Dtype::int64, actual), wanted = tensor_of(shape, Dtype::int64, expected);
    REQUIRE(settle(call, static_cast<size_t>(call.row->find(arg)), came, wanted).ok());
    return {came->data_as<int64_t>(), came->data_as<int64_t>() + came->numel()};
}

}  // namespace

TEST_CASE("the place of any greatest element is right, and no other place") {
    Call call(*find_row("diopiMax"));
    call["input"] = float_tensor({2, 3}, {4, 7, 7, NAN, 1, NAN});
    call["dim"] = int64_t{1};
    CHECK(is_open(call, static_cast<size_t>(call.row->find("max_indices"))));
    CHECK_FALSE(is_open(call, static_cast<size_t>(call.row->find("max"))));
    using Places = std::vector<int64_t>;
    CHECK(settled(call, "max_indices", {2}, {2, 2}, {1, 0}) == Places{1, 0});
    CHECK(settled(call, "max_indices", {2}, {0, 1}, {1, 0}) == Places{0, 1});
    CHECK(settled(call, "max_indices", {2}, {3, -1}, {1, 0}) == Places{3, -1});
}

TEST_CASE("places count along the dim of the call, or in row-major order") {
    Call call(*find_row("diopiArgmax"));
    call["input"] = float_tensor({3, 2}, {9, 1, 9, 2, 5, 2});
    call["keepdim"] = false;
    using Places = std::vector<int64_t>;
    CHECK(settled(call, "out", {}, {2}, {0}) == Places{0});
    CHECK(settled(call, "out", {}, {1}, {0}) == Places{1});
    call["dim"] = int64_t{0};
    CHECK(settled(call, "out", {2}, {1, 2}, {0, 1}) == Places{0, 1});
    CHECK(settled(call, "out", {2}, {2, 0}, {0, 1}) == Places{2, 0});
}

TEST_CASE("topk that is not sorted may have any order, with each value at its place") {
    Call call(*find_row("diopiTopk"));
    call["input"] = float_tensor({4}, {3, 9, 9, 1});
    call["dim"] = int64_t{0};
    call["k"] = int64_t{3};
    call["largest"] = true;
    call["sorted"] = false;
    CHECK(is_open(call, 0));
    TensorPtr came = float_tensor({3}, {3, 9, 9}), wanted = float_tensor({3}, {9, 9, 3});
    REQUIRE(settle(call, 0, came, wanted).ok());
    CHECK(std::ranges::equal(std::span(came->data_as<float>(), 3), std::span(wanted->data_as<float>(), 3)));
    TensorPtr places = tensor_of<int64_t>({3}, Dtype::int64, {0, 2, 1});
    const TensorPtr expected = tensor_of<int64_t>({3}, Dtype::int64, {1, 2, 0});
    TensorPtr right = expected;
    REQUIRE(settle(call, 1, places, right).ok());
    CHECK(std::ranges::equal(std::span(places->data_as<int64_t>(), 3), std::span(right->data_as<int64_t>(), 3)));
    TensorPtr twice = tensor_of<int64_t>({3}, Dtype::int64, {0, 2, 2});
    right = expected;
    REQUIRE(settle(call, 1, twice, right).ok());
    CHECK_FALSE(std::ranges::equal(std::span(twice->data_as<int64_t>(), 3), std::span(right->data_as<int64_t>(), 3)));
    const auto values = float_tensor({3}, {3, 9, 9});
    CHECK(wrong_pair(call, *values, *tensor_of<int64_t>({3}, Dtype::int64, {0, 2, 1})).empty());
    CHECK_FALSE(wrong_pair(call, *values, *tensor_of<int64_t>({3}, Dtype::int64, {1, 2, 0})).empty());
    call["sorted"] = true;
    CHECK_FALSE(is_open(call, 0));
}

TEST_CASE("a stable sort has one right place for each element") {
    Call call(*find_row("diopiSort"));
    const auto places = static_cast<size_t>(call.row->find("indices"));
    CHECK(is_open(call, places));
    call["pStable"] = true;
    CHECK_FALSE(is_open(call, places));
}

}  // namespace diopi
