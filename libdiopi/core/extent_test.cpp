#include "core/extent.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

TEST_CASE("a shape is addressable while its bytes fit in 64 bits") {
    CHECK(is_addressable(Shape{}));
    CHECK(is_addressable(Shape{0, 3}));
    CHECK(is_addressable(Shape{int64_t{1} << 58}));
    CHECK_FALSE(is_addressable(Shape{int64_t{1} << 59}));
    CHECK_FALSE(is_addressable(Shape{int64_t{1} << 30, int64_t{1} << 30}));
    CHECK_FALSE(is_addressable(Shape{0, int64_t{1} << 30, int64_t{1} << 30}));
    CHECK_FALSE(is_addressable(Shape{2, -1}));
}
