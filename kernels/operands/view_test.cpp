#include "kernels/operands/view.hpp"

#include <catch2/catch.hpp>

#include "kernels/operands/testing.hpp"

namespace diopi::operands {
namespace {

using testing::contiguous;
using testing::Layout;

}  // namespace

TEST_CASE("operands: an input that shares memory with the output must be copied unless it is the same view") {
    const Layout out = contiguous({4});
    Layout shifted = out;
    shifted.data += 4;
    Layout behind = out;
    behind.data += 16;
    const Layout backwards{{4}, {-1}, Dtype::float32, out.data + 12};
    CHECK_FALSE(aliases_differently(out.view(), out.view()));
    CHECK(aliases_differently(out.view(), shifted.view()));
    CHECK(aliases_differently(out.view(), backwards.view()));
    CHECK_FALSE(aliases_differently(out.view(), behind.view()));
    CHECK_FALSE(aliases_differently(out.view(), number_view(Dtype::float32)));
    const Layout first{{1}, {1}, Dtype::float32, out.data};
    CHECK(aliases_differently(out.view(), first.view()));
}

}  // namespace diopi::operands
