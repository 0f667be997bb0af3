#include <catch2/catch.hpp>

#include "kernels/operands/conv.hpp"
#include "kernels/operands/pool.hpp"
#include "kernels/operands/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::operands {
namespace {

using Catch::Contains;
using testing::contiguous;
using testing::Layout;

diopiSize_t numbers(const Shape& list) { return {list.data(), static_cast<int64_t>(list.size())}; }

const Shape kTwo{2}, kNone{}, kZero{0}, kOne{1};

diopiError_t read_pool(size_t sides, const Layout& in, const Layout& out, const Shape& kernel, const Shape& padding) {
    PoolImages pool;
    return read_max_pool("op", sides, out.view(), nullptr, in.view(),
                         {numbers(kernel), numbers(kNone), numbers(padding), numbers(kOne), false}, pool);
}

diopiError_t read_conv(const Shape& out, const Shape& in, const Shape& weight, int64_t groups, const Shape& stride) {
    ConvShape shape;
    const Layout y = contiguous(out), x = contiguous(in), w = contiguous(weight);
    return read_convolution("op", weight.size() - 2, x.view(), w.view(), y.view(),
                            {numbers(stride), numbers(kZero), numbers(kOne), groups}, shape);
}

}  // namespace

TEST_CASE("pooling refuses wrong arguments, and its message gives the valid ones") {
    const Layout x = contiguous({1, 4, 4}), out = contiguous({1, 2, 2});
    CHECK(read_pool(2, x, out, kTwo, kZero) == diopiSuccess);
    CHECK(read_pool(2, contiguous({1, 4, 4}, Dtype::int32), out, kTwo, kZero) == diopiDtypeNotSupported);
    CHECK(last_error() == "op: input is int32, wanted a floating dtype");
    CHECK(read_pool(2, contiguous({4, 4}), out, kTwo, kZero) == diopiErrorOccurred);
    CHECK(last_error() == "op: input has shape (4, 4), wanted (N, C, H, W) or (C, H, W)");
    CHECK(read_pool(2, x, contiguous({1, 3, 2}), kTwo, kZero) == diopiErrorOccurred);
    CHECK(last_error() == "op: out has shape (1, 3, 2), wanted (1, 2, 2)");
    CHECK(read_pool(2, x, out, kNone, kZero) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Contains("kernel_size is empty"));
    CHECK(read_pool(2, x, out, kTwo, kTwo) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Contains("at most half the dilated kernel"));
    CHECK(read_pool(2, x, out, kZero, kZero) == diopiErrorOccurred);
    CHECK(read_pool(1, contiguous({4}), contiguous({2}), kTwo, kZero) == diopiErrorOccurred);
    CHECK(last_error() == "op: input has shape (4,), wanted (N, C, L) or (C, L)");
    CHECK(read_pool(3, x, out, kTwo, kZero) == diopiErrorOccurred);
    CHECK(last_error() == "op: input has shape (1, 4, 4), wanted (N, C, D, H, W) or (C, D, H, W)");
    CHECK(read_pool(3, contiguous({1, 4, 5, 6}), contiguous({1, 2, 2, 2}), kTwo, kZero) == diopiErrorOccurred);
    CHECK(last_error() == "op: out has shape (1, 2, 2, 2), wanted (1, 2, 2, 3)");
}

TEST_CASE("places of maxima need a dtype that holds them, and the shape of the maxima") {
    const auto check = [](const Layout& in, const Layout& out, const Layout& indices) {
        PoolImages pool;
        const View places = indices.view();
        return read_max_pool("op", 2, out.view(), &places, in.view(),
                             {numbers(kTwo), numbers(kNone), numbers(kZero), numbers(kOne), false}, pool);
    };
    const Layout x = contiguous({1, 4, 4}), out = contiguous({1, 2, 2});
    CHECK(check(x, out, contiguous({1, 2, 2}, Dtype::int32)) == diopiSuccess);
    CHECK(check(x, out, contiguous({1, 2, 2}, Dtype::int16)) == diopiDtypeNotSupported);
    CHECK(last_error() == "op: indices is int16, wanted int64 or int32");
    CHECK(check(x, out, contiguous({1, 2, 3}, Dtype::int64)) == diopiErrorOccurred);
    CHECK(last_error() == "op: indices has shape (1, 2, 3), wanted (1, 2, 2)");
    const int64_t side = int64_t{1} << 17;
    CHECK(check(contiguous({1, side, side}), contiguous({1, side / 2, side / 2}),
                contiguous({1, side / 2, side / 2}, Dtype::int32)) == diopiDtypeNotSupported);
    CHECK(last_error() == "op: indices is int32, wanted int64 for planes of so many elements");
}

TEST_CASE("adaptive pooling refuses shapes that contradict each other, and means of no elements") {
    const auto check = [](const Shape& out, const Shape& in, const Shape& size) {
        PoolImages pool;
        return read_adaptive_pool("op", 2, contiguous(out).view(), contiguous(in).view(), numbers(size), pool);
    };
    CHECK(check({1, 2, 2}, {1, 5, 4}, kTwo) == diopiSuccess);
    CHECK(check({1, 5, 4}, {1, 5, 4}, kNone) == diopiSuccess);
    CHECK(check({1, 2, 3}, {1, 5, 4}, kTwo) == diopiErrorOccurred);
    CHECK(last_error() == "op: out has shape (1, 2, 3), wanted (1, 2, 2)");
    CHECK(check({1, 2, 2}, {1, 0, 4}, kTwo) == diopiErrorOccurred);
    CHECK(last_error() == "op: input has shape (1, 0, 4), wanted sides of at least 1");
    PoolImages pool;
    CHECK(read_adaptive_pool_backward("op", 2, contiguous({1, 5, 4}).view(), contiguous({2, 2, 2}).view(),
                                      contiguous({1, 5, 4}).view(), pool) == diopiErrorOccurred);
    CHECK(last_error() == "op: grad_output has shape (2, 2, 2), wanted the outer dimensions of input");
}

TEST_CASE("a convolution refuses contradictions, with messages for its number of sides") {
    CHECK(read_conv({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, 1, kOne) == diopiSuccess);
    CHECK(read_conv({2, 2, 2}, {3, 3, 3}, {2, 3, 2, 2}, 1, kOne) == diopiSuccess);
    CHECK(read_conv({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 2, 2, 2}, 1, kOne) == diopiErrorOccurred);
    CHECK(last_error() ==
          "op: weight has shape (2, 2, 2, 2), wanted (out, 3 / groups, height, width) with sides that 1 groups divide");
    CHECK(read_conv({1, 2, 2, 2}, {1, 3, 3, 3}, {2, 3, 2, 2}, 1, kZero) == diopiErrorOccurred);
    CHECK(last_error() ==
          "op: wanted kernel sides, strides, dilations and groups of at least 1 and paddings of at least 0");
    CHECK(read_conv({2, 2, 3}, {3, 3, 3}, {2, 3, 2, 2}, 1, kOne) == diopiErrorOccurred);
    CHECK(last_error() == "op: out has shape (2, 2, 3), wanted (1, 2, 2, 2)");
    CHECK(read_conv({1, 2, 2}, {1, 3, 3}, {2, 3, 2}, 1, kOne) == diopiSuccess);
    CHECK(read_conv({1, 2, 2}, {3}, {2, 3, 2}, 1, kOne) == diopiErrorOccurred);
    CHECK(last_error() == "op: input has shape (3,), wanted (N, C, L) or (C, L)");
    CHECK(read_conv({1, 2, 2, 2, 2}, {1, 3, 3, 3, 3}, {2, 4, 2, 2, 2}, 1, kOne) == diopiErrorOccurred);
    CHECK(last_error() ==
          "op: weight has shape (2, 4, 2, 2, 2), wanted (out, 3 / groups, depth, height, width) with sides that 1 "
          "groups divide");
}

}  // namespace diopi::operands
