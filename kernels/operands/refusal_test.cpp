#include "kernels/operands/refusal.hpp"

#include <catch2/catch.hpp>

#include "kernels/operands/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::operands {
namespace {

using testing::contiguous;
using testing::Layout;

}  // namespace

TEST_CASE("operands: operands that no kernel supports are refused") {
    const Layout out = contiguous({3, 4}), repeated{{3, 4}, {0, 1}};
    CHECK(check_views("op", out.view(), std::array{out.view(), contiguous({4}).view()}) == diopiSuccess);
    CHECK(check_views("op", repeated.view(), {}) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("one memory location for each element"));
    CHECK(check_views("op", out.view(), std::array{contiguous({3}).view()}) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("broadcasts to the output's (3, 4)"));
    CHECK(check_views("op", out.view(), std::array{contiguous({2, 3, 4}).view()}) == diopiErrorOccurred);
    CHECK(check_views("op", contiguous(Shape(17, 1)).view(), {}) == diopiErrorOccurred);
}

TEST_CASE("operands: an empty output repeats no element, with any strides") {
    const Layout empty{{16, 0}, {0, 1}}, empty_row{{0, 16}, {0, 0}}, single{{1, 4}, {0, 1}};
    for (const Layout& out : {empty, empty_row, single}) {
        CHECK_FALSE(repeats_elements(out.view()));
        CHECK(check_views("op", out.view(), {}) == diopiSuccess);
    }
    CHECK(repeats_elements(Layout{{2, 4}, {0, 1}}.view()));
}

}  // namespace diopi::operands
