#include "runtime/opened_library.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

struct Mathematics {
    double (*cosine)(double) = nullptr;
    const char* second = "cos";

    void find_all(FunctionFinder& finder) {
        finder.find(cosine, "cos");
        decltype(cosine) other = nullptr;
        finder.find(other, second);
    }
};

struct Unknown : Mathematics {
    Unknown() { second = "no_such_function"; }
};

}  // namespace

TEST_CASE("an installed library gives its functions") {
    const OpenedLibrary<Mathematics> opened("libm.so.6");
    REQUIRE(opened.is_usable);
    CHECK(opened.functions.cosine(0.0) == 1.0);
}

TEST_CASE("a missing library is not an error until its first use, and the reason has its name") {
    const OpenedLibrary<Mathematics> opened("libdiopi_missing.so.9");
    CHECK_FALSE(opened.is_usable);
    CHECK_THAT(opened.why, Catch::Contains("libdiopi_missing.so.9"));
}

TEST_CASE("a library without one of the functions is not used, and the function is named") {
    const OpenedLibrary<Unknown> opened("libm.so.6");
    CHECK_FALSE(opened.is_usable);
    CHECK_THAT(opened.why, Catch::Contains("no_such_function"));
}
