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
