#include "check/repeat.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/device.hpp"

namespace diopi {
namespace {

constexpr PoisonBytes kPoison = {0xff, 0x42};

TensorPtr floats(const std::vector<float>& values, Shape strides = {}) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, Dtype::float32, strides});
    REQUIRE(tensor.ok());
    for (size_t i = 0; i < values.size(); ++i) {
        (*tensor)->data_as<float>()[static_cast<int64_t>(i) * (*tensor)->strides[0]] = values[i];
    }
    return *tensor;
}

float poison(int byte) {
    float value = 0;
    std::fill_n(reinterpret_cast<unsigned char*>(&value), sizeof value, static_cast<unsigned char>(byte));
    return value;
}

}  // namespace

TEST_CASE("equal runs pass with any layouts and payloads of NaNs") {
    CHECK(compare_runs(*floats({1, 2, 3}), *floats({1, 2, 3}), kPoison, false).ok());
    CHECK(compare_runs(*floats({1, 2, 3}), *floats({1, 2, 3}, {2}), kPoison, false).ok());
    CHECK(compare_runs(*floats({1, NAN}), *floats({1, -NAN}), kPoison, false).ok());
    CHECK(compare_runs(*floats({}), *floats({}), kPoison, false).ok());
}

TEST_CASE("an element with both patterns was never written") {
    const auto first = floats({1, 2, 3, poison(0xff)});
    const auto second = floats({1, 2, 3, poison(0x42)});
    CHECK(compare_runs(*first, *second, kPoison, false).reason == "1 of 4 elements were never written; last element");
    CHECK(compare_runs(*first, *second, kPoison, true).reason == "1 of 4 elements were never written; last element");
    // A result that equals one of the patterns by chance was written.
    CHECK(compare_runs(*first, *floats({1, 2, 3, poison(0xff)}), kPoison, false).ok());
}

TEST_CASE("runs that differ are not repeatable, unless that is allowed") {
    const auto first = floats({1, 2, 3, 4});
    const auto second = floats({1, 2.5, 3, 4});
    CHECK(compare_runs(*first, *second, kPoison, false).reason ==
          "two runs on the same inputs differ in 1 of 4 elements; one element");
    CHECK(compare_runs(*first, *second, kPoison, true).ok());
    CHECK_FALSE(compare_runs(*floats({1, NAN}), *floats({1, 2}), kPoison, false).ok());
}

}  // namespace diopi
