#include "intercept/places.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
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

}  // namespace diopi
