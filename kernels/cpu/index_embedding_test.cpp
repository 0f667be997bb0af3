#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Indices of `count` rows, some of which are named often.
TensorPtr indices(const Shape& shape, Dtype dtype, int64_t count) {
    Values rows;
    for (int64_t i = 0; i < numel(shape); ++i) rows.push_back(double(i % 3 == 0 ? 1 : i * 7 % count));
    return tensor(shape, dtype, rows, scattered(shape));
}

}  // namespace

TEST_CASE("an embedding looks up rows, for every dtype, index and strides") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::float32, Dtype::float64, Dtype::int8, Dtype::complex64);
    const Dtype index = GENERATE(Dtype::int32, Dtype::int64);
    const bool strided = GENERATE(false, true);
    const Shape shape = {50, 37}, table = {11, 40}, out = {50, 37, 40};
    diopiContext ctx(cpu_device());
    const auto weight = random(table, dtype, 1, strided ? scattered(table) : Shape{});
    const auto at = indices(shape, index, 11), y = unwritten(out, dtype, strided ? scattered(out) : Shape{});
    REQUIRE(cpu::diopiEmbedding(&ctx, y.get(), weight.get(), at.get(), -1, false, false) == diopiSuccess);
    const Values rows = values(*at), from = values(*weight), got = values(*y);
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) wrong += got[i] != from[size_t(rows[i / 40]) * 40 + i % 40];
    CHECK(wrong == 0);
}

TEST_CASE("the gradient of an embedding adds up the rows of each index") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool by_frequency = GENERATE(false, true), strided = GENERATE(false, true);
    const int64_t padding = GENERATE(-1, 2), count = 13;
    const Shape shape = {9, 5}, grads = {9, 5, 33}, table = {count, 33};
    diopiContext ctx(cpu_device());
    const auto g = random(grads, dtype, 1, strided ? scattered(grads) : Shape{}), at = indices(shape, Dtype::int64, 13);
    const auto gw = unwritten(table, dtype, strided ? scattered(table) : Shape{});
    REQUIRE(cpu::diopiEmbeddingBackward(&ctx, gw.get(), g.get(), at.get(), count, padding, by_frequency, false) ==
            diopiSuccess);
    const Values rows = values(*at), from = values(*g);
    Values sums(size_t(count) * 33), times(size_t(count), 0);
    for (const double row : rows) times[size_t(row)] += 1;
    for (size_t i = 0; i < from.size(); ++i) {
        const auto row = size_t(rows[i / 33]);
        if (int64_t(row) != padding) sums[row * 33 + i % 33] += from[i] / (by_frequency ? times[row] : 1);
    }
    check_close(*gw, sums);
}

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
