#include "intercept/distinct.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "intercept/places.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

template <class T>
TensorPtr host_tensor(const Shape& shape, Dtype dtype, const std::vector<T>& values) {
    auto made = make_tensor(cpu_device(), {shape, dtype, {}});
    REQUIRE(made.ok());
    std::ranges::copy(values, (*made)->data_as<T>());
    return *made;
}
TensorPtr row_of_floats(const Shape& shape, const std::vector<float>& values) {
    return host_tensor(shape, Dtype::float32, values);
}
TensorPtr whole(const std::vector<int64_t>& values) {
    return host_tensor({static_cast<int64_t>(values.size())}, Dtype::int64, values);
}

Call unique_of(TensorPtr input, bool sorted) {
    Call call(*find_row("diopiUnique"));
    call["input"] = std::move(input);
    call["sorted"] = sorted;
    call["return_counts"] = true;
    return call;
}

template <class T>
bool settle_to_equal(const Call& call, std::string_view arg, TensorPtr actual, TensorPtr expected) {
    REQUIRE(settle(call, static_cast<size_t>(call.row->find(arg)), actual, expected).ok());
    const auto n = static_cast<size_t>(actual->numel());
    return std::ranges::equal(std::span(actual->data_as<T>(), n), std::span(expected->data_as<T>(), n));
}

}  // namespace

TEST_CASE("distinct elements that need not be sorted may have any order") {
    const Call call = unique_of(row_of_floats({5}, {7, 3, 7, 1, 3}), false);
    CHECK(is_open(call, 0));
    CHECK_FALSE(is_open(unique_of(row_of_floats({1}, {7}), true), 0));
    CHECK(settle_to_equal<float>(call, "out", row_of_floats({3}, {7, 1, 3}), row_of_floats({3}, {1, 3, 7})));
    CHECK_FALSE(settle_to_equal<float>(call, "out", row_of_floats({3}, {7, 1, 1}), row_of_floats({3}, {1, 3, 7})));
    CHECK(settle_to_equal<int64_t>(call, "indices", whole({0, 2, 0, 1, 2}), whole({2, 1, 2, 0, 1})));
    CHECK_FALSE(settle_to_equal<int64_t>(call, "indices", whole({0, 2, 0, 2, 1}), whole({2, 1, 2, 0, 1})));
    CHECK(settle_to_equal<int64_t>(call, "counts", whole({2, 1, 2}), whole({1, 2, 2})));
    CHECK_FALSE(settle_to_equal<int64_t>(call, "counts", whole({1, 1, 3}), whole({1, 2, 2})));
}

TEST_CASE("slices are distinct as a whole") {
    Call call = unique_of(row_of_floats({2, 3}, {1, 5, 1, 2, 4, 2}), false);
    call["dim"] = int64_t{-1};
    CHECK(
        settle_to_equal<float>(call, "out", row_of_floats({2, 2}, {5, 1, 4, 2}), row_of_floats({2, 2}, {1, 5, 2, 4})));
    CHECK_FALSE(
        settle_to_equal<float>(call, "out", row_of_floats({2, 2}, {5, 1, 2, 4}), row_of_floats({2, 2}, {1, 5, 2, 4})));
    const auto out = row_of_floats({2, 2}, {5, 1, 4, 2}), counts = whole({1, 2}), positions = whole({1, 0, 1});
    CHECK(wrong_distinct(call, *out, positions.get(), counts.get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, whole({0, 1, 0}).get(), counts.get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, nullptr, whole({2, 1}).get()).empty());
}

TEST_CASE("positions and numbers belong to the distinct elements, and each NaN is one") {
    const Call call = unique_of(row_of_floats({4}, {NAN, 3, NAN, 3}), true);
    const auto out = row_of_floats({3}, {3, NAN, NAN}), counts = whole({2, 1, 1});
    CHECK(wrong_distinct(call, *out, whole({1, 0, 2, 0}).get(), counts.get()).empty());
    CHECK(wrong_distinct(call, *out, whole({2, 0, 1, 0}).get(), counts.get()).empty());
    CHECK(wrong_distinct(call, *out, nullptr, counts.get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, whole({0, 1, 2, 1}).get(), counts.get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, whole({1, 3, 2, 0}).get(), counts.get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, whole({1, 0, 2, 0}).get(), whole({1, 2, 1}).get()).empty());
    CHECK_FALSE(wrong_distinct(call, *out, nullptr, whole({1, 2, 1}).get()).empty());
    // Both NaNs at one position.
    CHECK(settle_to_equal<int64_t>(call, "indices", whole({2, 0, 1, 0}), whole({1, 0, 2, 0})));
    CHECK_FALSE(settle_to_equal<int64_t>(call, "indices", whole({1, 0, 1, 0}), whole({1, 0, 2, 0})));
}

}  // namespace diopi
