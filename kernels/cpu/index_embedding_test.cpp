#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("an embedding refuses indices beyond its table and tensors that do not fit") {
    diopiContext ctx(cpu_device());
    const auto table = random({3, 2}, Dtype::float32, 1), y = unwritten({2, 2}, Dtype::float32);
    const auto bad = tensor({2}, Dtype::int64, {0, 3}), good = tensor({2}, Dtype::int64, {0, 2});
    CHECK(cpu::diopiEmbedding(&ctx, y.get(), table.get(), bad.get(), -1, false, false) == diopiErrorOccurred);
    CHECK(last_error() == "diopiEmbedding: indices holds 3, wanted 0 to 2: there are 3 rows");
    CHECK(values(*y) == Values(4, 12345));
    CHECK(cpu::diopiEmbedding(&ctx, y.get(), y.get(), table.get(), -1, false, false) == diopiErrorOccurred);
    CHECK(cpu::diopiEmbedding(&ctx, unwritten({2, 2}, Dtype::float16).get(), table.get(), good.get(), -1, false,
                              false) == diopiDtypeNotSupported);
    CHECK(cpu::diopiEmbeddingBackward(&ctx, table.get(), y.get(), good.get(), 4, -1, false, false) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiEmbeddingBackward: out has shape (3, 2), wanted (4, dim)");
    CHECK(cpu::diopiEmbeddingBackward(&ctx, table.get(), y.get(), good.get(), 3, -1, false, true) ==
          diopiErrorOccurred);
    const auto none = unwritten({0, 2}, Dtype::float32), zeros = unwritten({3, 2}, Dtype::float32);
    const auto no_index = tensor({0}, Dtype::int64, {});
    REQUIRE(cpu::diopiEmbedding(&ctx, none.get(), table.get(), no_index.get(), -1, false, false) == diopiSuccess);
    REQUIRE(cpu::diopiEmbeddingBackward(&ctx, zeros.get(), none.get(), no_index.get(), 3, -1, true, false) ==
            diopiSuccess);
    CHECK(values(*zeros) == Values(6, 0));
}

TEST_CASE("rows of a gradient add up their terms in float32 and are rounded once") {
    diopiContext ctx(cpu_device());
    constexpr int64_t kSize = 1030;  // more than a tile
    const auto table = [&](Dtype dtype, const Values& rows) {
        Values all;
        for (const double x : rows) all.insert(all.end(), kSize, x);
        return tensor({static_cast<int64_t>(rows.size()), kSize}, dtype, all);
    };
    const auto dtype = GENERATE(Dtype::bfloat16, Dtype::float16, Dtype::float32, Dtype::float64);
    const auto grad = table(dtype, {256, -0.0, 1, 7, 1}), out = table(dtype, {9, 9, 9, 9, 9});
    const auto rows = tensor({5}, Dtype::int64, {4, 2, 4, 1, 4});
    REQUIRE(cpu::diopiEmbeddingBackward(&ctx, out.get(), grad.get(), rows.get(), 5, 1, false, false) == diopiSuccess);
    CHECK(values(*out) == values(*table(dtype, {0, 0, 0, 0, 258})));
    CHECK(!std::signbit(values(*out)[2 * kSize]));
    REQUIRE(cpu::diopiEmbeddingBackward(&ctx, out.get(), grad.get(), rows.get(), 5, -1, true, false) == diopiSuccess);
    CHECK(values(*out) == values(*table(dtype, {0, 7, 0, 0, 86})));
    const auto columns = tensor({2}, Dtype::int64, {2, 2}), few = tensor({2, 2}, dtype, {1, 2, 3, -0.0});
    const auto wide = table(dtype, {9, 9});
    int64_t sizes[] = {2, kSize};
    REQUIRE(cpu::diopiIndexSelectBackward(&ctx, wide.get(), few.get(), {sizes, 2}, 1, columns.get()) == diopiSuccess);
    CHECK(values(*wide)[2] == 3);
    CHECK(values(*wide)[kSize + 2] == 3);
    CHECK(values(*wide)[0] == 0);
}
