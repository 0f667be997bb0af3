#include "step/undefined.hpp"

#include <catch2/catch.hpp>

#include "core/convert.hpp"

using namespace diopi;

namespace {

TensorPtr numbers(Dtype dtype, const std::vector<int64_t>& values) {
    auto wide = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, Dtype::int64, {}});
    auto made = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, dtype, {}});
    std::copy(values.begin(), values.end(), (*wide)->data_as<int64_t>());
    narrow(**wide, **made);
    return *made;
}

std::string remainder_of(const TensorPtr& input, Value other) {
    const bool is_number = std::holds_alternative<Scalar>(other);
    Call call(*find_row(is_number ? "diopiRemainderScalar" : "diopiRemainderTensor"));
    call["input"] = input;
    call["other"] = std::move(other);
    return why_undefined(call);
}

}  // namespace

TEST_CASE("an integer that is divided by 0 has no result", "[step]") {
    const auto whole = numbers(Dtype::int32, {1, 2}), real = numbers(Dtype::float32, {1, 0});
    const char* const reason = "an integer is divided by 0: the standard has no result for it";
    CHECK(remainder_of(whole, numbers(Dtype::int8, {3, 0})) == reason);
    CHECK(remainder_of(whole, Scalar::of(int64_t{0})) == reason);
    CHECK(remainder_of(whole, numbers(Dtype::int8, {3, 1})).empty());
    CHECK(remainder_of(whole, numbers(Dtype::int32, {256, 1})).empty());
    CHECK(remainder_of(real, real).empty());
    CHECK(remainder_of(whole, real).empty());
    CHECK(remainder_of(real, Scalar::of(int64_t{0})).empty());
}

TEST_CASE("only a quotient of integers that is rounded has no result", "[step]") {
    Call call(*find_row("diopiDiv"));
    call["input"] = numbers(Dtype::int32, {1, 2});
    call["other"] = numbers(Dtype::int32, {0, 1});
    call["rounding_mode"] = int64_t{RoundModeNone};
    CHECK(why_undefined(call).empty());
    call["rounding_mode"] = int64_t{RoundModeFloor};
    CHECK_FALSE(why_undefined(call).empty());
}
