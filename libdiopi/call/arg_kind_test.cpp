#include "call/arg_kind.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace diopi {

TEST_CASE("an argument's C type determines the value that boxes it", "[call]") {
    CHECK(alternative_of(ArgKind::const_tensor) == Value(TensorPtr()).index());
    CHECK(alternative_of(ArgKind::tensors) == Value(TensorList()).index());
    CHECK(alternative_of(ArgKind::scalar) == Value(Scalar()).index());
    CHECK(alternative_of(ArgKind::int_list_ptr) == Value(IntList()).index());
    CHECK(alternative_of(ArgKind::memory_format) == Value(int64_t{0}).index());
    CHECK(alternative_of(ArgKind::float32) == Value(0.0).index());
    CHECK(alternative_of(ArgKind::boolean_ptr) == Value(true).index());
    CHECK(alternative_of(ArgKind::text) == Value(std::string()).index());
    CHECK(alternative_of(ArgKind::generator) == Value(diopiGeneratorHandle_t{nullptr}).index());
    CHECK(alternative_of(ArgKind::generators) == Value(GeneratorList()).index());
    CHECK(alternative_of(ArgKind::pointer) == Value().index());
}

TEST_CASE("a value fits only C types that can hold it", "[call]") {
    CHECK(fits(int64_t{INT64_MIN}, ArgKind::int64));
    CHECK(fits(int64_t{INT32_MAX}, ArgKind::int32));
    CHECK_FALSE(fits(int64_t{INT32_MAX} + 1, ArgKind::int32));
    CHECK_FALSE(fits(int64_t{INT32_MIN} - 1, ArgKind::int32));
    CHECK(fits(int64_t{ReductionSum}, ArgKind::reduction));
    CHECK_FALSE(fits(int64_t{-1}, ArgKind::reduction));
    CHECK_FALSE(fits(int64_t{4}, ArgKind::round_mode));
    CHECK_FALSE(fits(int64_t{5}, ArgKind::memory_format));
    CHECK(fits(1e300, ArgKind::float64));
    CHECK_FALSE(fits(-1e300, ArgKind::float32));
    CHECK(fits(std::numeric_limits<double>::infinity(), ArgKind::float32));
    CHECK_FALSE(fits(1.0, ArgKind::int64));
    CHECK_FALSE(fits(true, ArgKind::scalar));
}

}  // namespace diopi
