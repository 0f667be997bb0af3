#include "kernels/operands/nest.hpp"

#include <catch2/catch.hpp>

#include "kernels/operands/testing.hpp"

namespace diopi::operands {
namespace {

using testing::contiguous;
using testing::Layout;

}  // namespace

TEST_CASE("operands: contiguous operands of one shape are one run") {
    const Layout layout = contiguous({2, 1, 3, 4});
    const Nest nest = make_nest(std::array{layout.view(), layout.view(), layout.view()});
    CHECK(nest.rank == 1);
    CHECK(nest.sizes[0] == 24);
    CHECK(nest.is_run());
    CHECK(nest.fits_32_bits());
}

TEST_CASE("operands: operands permuted alike are one run, others are not") {
    const Layout permuted{{3, 4}, {1, 3}};
    CHECK(make_nest(std::array{permuted.view(), permuted.view()}).is_run());
    const Layout plain = contiguous({3, 4});
    CHECK_FALSE(make_nest(std::array{plain.view(), permuted.view()}).is_run());
    const Layout gaps{{3, 4}, {8, 1}};
    CHECK_FALSE(make_nest(std::array{gaps.view(), plain.view()}).is_run());
    const Layout every_other{{5}, {2}};
    CHECK_FALSE(make_nest(std::array{every_other.view(), every_other.view()}).is_run());
    CHECK_FALSE(make_nest(std::array{contiguous({5}).view(), every_other.view()}).is_run());
}

TEST_CASE("operands: an input of one element repeats in a run, a row or column does not") {
    const Layout out = contiguous({3, 4});
    for (const Layout& one : {contiguous({}), contiguous({1}), contiguous({1, 1})}) {
        const Nest nest = make_nest(std::array{out.view(), out.view(), one.view()});
        CHECK(nest.is_run());
        CHECK(nest.strides[2][0] == 0);
    }
    CHECK_FALSE(make_nest(std::array{out.view(), out.view(), contiguous({4}).view()}).is_run());
    CHECK_FALSE(make_nest(std::array{out.view(), out.view(), contiguous({3, 1}).view()}).is_run());
}

TEST_CASE("operands: a nest says whether its elements and places fit 32 bits") {
    const int64_t most = INT32_MAX;
    CHECK(make_nest(std::array{contiguous({most}).view()}).fits_32_bits());
    CHECK_FALSE(make_nest(std::array{contiguous({most + 1}).view()}).fits_32_bits());
    const Layout narrow = contiguous({2, 2}), wide{{2, 2}, {most - 1, 1}}, wider{{2, 2}, {most, 1}};
    CHECK(make_nest(std::array{narrow.view(), wide.view()}).fits_32_bits());
    CHECK_FALSE(make_nest(std::array{narrow.view(), wider.view()}).fits_32_bits());
    const Layout backwards{{2, 2}, {-most, -1}};
    CHECK_FALSE(make_nest(std::array{narrow.view(), backwards.view()}).fits_32_bits());
}

}  // namespace diopi::operands
