#include "call/element_numbers.hpp"

#include <catch2/catch.hpp>

#include "runtime/device.hpp"

using namespace diopi;

namespace {

Scalar converted(Dtype dtype, const Scalar& number) {
    Call call(*find_row("diopiThreshold"));
    call["input"] = *make_tensor(cpu_device(), {{2}, dtype, {}});
    call["threshold"] = call["value"] = number;
    convert_element_numbers(call);
    CHECK(std::get<Scalar>(call["value"]) == number);
    return std::get<Scalar>(call["threshold"]);
}

}  // namespace

TEST_CASE("a number below 0 that becomes an element wraps in an unsigned dtype", "[call]") {
    CHECK(converted(Dtype::uint8, Scalar::of(int64_t{-1})).integer == 255);
    CHECK(converted(Dtype::uint16, Scalar::of(int64_t{-1})).integer == 65535);
    CHECK(converted(Dtype::uint32, Scalar::of(int64_t{-2})).integer == 4294967294);
    CHECK(converted(Dtype::uint8, Scalar::of(-1.5)).integer == 255);
    CHECK(converted(Dtype::int8, Scalar::of(int64_t{-1})).integer == -1);
    CHECK(converted(Dtype::float32, Scalar::of(-1.5)) == Scalar::of(-1.5));
}
