#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("a copy broadcasts, converts and accepts any layout, its own memory included") {
    diopiContext ctx(cpu_device());
    const auto row = tensor({3}, Dtype::float32, {1.75, -2.5, 0}), whole = unwritten({2, 3}, Dtype::int32, {1, 2});
    REQUIRE(cpu::diopiCopyInp(&ctx, row.get(), whole.get()) == diopiSuccess);
    CHECK(values(*whole) == Values{1, -2, 0, 1, -2, 0});
    const auto flags = unwritten({3}, Dtype::boolean);
    REQUIRE(cpu::diopiCastDtype(&ctx, flags.get(), row.get()) == diopiSuccess);
    CHECK(values(*flags) == Values{1, 1, 0});
    const auto square = tensor({2, 2}, Dtype::float32, {1, 2, 3, 4});
    auto turned = std::make_shared<Tensor>(*square);
    std::swap(turned->strides[0], turned->strides[1]);
    REQUIRE(cpu::diopiCopyInp(&ctx, turned.get(), square.get()) == diopiSuccess);
    CHECK(values(*square) == Values{1, 3, 2, 4});
    const auto wide = unwritten({2, 3}, Dtype::float32);
    REQUIRE(cpu::diopiExpand(&ctx, wide.get(), row.get()) == diopiSuccess);
    CHECK(values(*wide) == Values{1.75, -2.5, 0, 1.75, -2.5, 0});
}

TEST_CASE("a copy refuses a source that does not broadcast, a cast one of another shape") {
    diopiContext ctx(cpu_device());
    const auto a = unwritten({2, 3}, Dtype::float32), b = unwritten({2}, Dtype::float32);
    CHECK(cpu::diopiCopyInp(&ctx, b.get(), a.get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiCopyInp: the source has shape (2,), wanted one that broadcasts to (2, 3)");
    CHECK(cpu::diopiCastDtype(&ctx, a.get(), b.get()) == diopiErrorOccurred);
    const int64_t size[] = {4};
    CHECK(cpu::diopiZeros(&ctx, b.get(), {size, 1}) == diopiErrorOccurred);
    CHECK(last_error() == "diopiZeros: out has shape (2,), wanted (4,)");
}
