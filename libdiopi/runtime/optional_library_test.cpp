#include "runtime/optional_library.hpp"

#include <catch2/catch.hpp>

using namespace diopi;
using Catch::Matchers::Contains;

TEST_CASE("a library that is not there is named, with what to do") {
    const auto library = OptionalLibrary::open("libdiopi_nowhere.so.7", "install nowhere 7");
    REQUIRE_FALSE(library.ok());
    CHECK_THAT(library.error().message, Contains("libdiopi_nowhere.so.7 cannot be opened: "));
    CHECK_THAT(library.error().message, Contains("; install nowhere 7"));
}

TEST_CASE("an optional library's functions are found by name") {
    const auto library = OptionalLibrary::open("libm.so.6", "install the C library");
    REQUIRE(library.ok());
    double (*cosine)(double) = nullptr;
    REQUIRE(library->find("cos", cosine).ok());
    CHECK(cosine(0) == 1);
    const Status missing = library->find("no_such_function", cosine);
    REQUIRE_FALSE(missing.ok());
    CHECK_THAT(missing.message(), Contains("libm.so.6 has no function no_such_function"));
}
