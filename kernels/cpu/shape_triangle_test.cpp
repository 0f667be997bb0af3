#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("triu and tril keep their triangle, for every width of element, strides and diagonal") {
    const Dtype dtype = GENERATE(Dtype::boolean, Dtype::float16, Dtype::float32, Dtype::int64, Dtype::complex128);
    const bool strided = GENERATE(false, true), upper = GENERATE(false, true), in_place = GENERATE(false, true);
    const int64_t diagonal = GENERATE(0, 1, -1, 2, 7, -7, INT64_MAX, INT64_MIN);
    const Shape shape = GENERATE(Shape{3, 4, 6}, Shape{5, 3}, Shape{1, 1}, Shape{300, 200});
    const Shape strides = strided ? scattered(shape) : Shape{};
    diopiContext ctx(cpu_device());
    const auto x = random(shape, dtype, 1, strides), y = in_place ? x : unwritten(shape, dtype, strides);
    const Values before = values(*x);
    const auto in_turn = [&] {
        if (!upper) return cpu::diopiTril(&ctx, y.get(), x.get(), diagonal);
        return in_place ? cpu::diopiTriuInp(&ctx, x.get(), diagonal) : cpu::diopiTriu(&ctx, y.get(), x.get(), diagonal);
    };
    REQUIRE(in_turn() == diopiSuccess);
    const Values got = values(*y);
    const auto columns = shape.back(), rows = shape[shape.size() - 2];
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const int64_t above = int64_t(i) % columns - int64_t(i) / columns % rows;
        wrong += got[i] != ((upper ? above >= diagonal : above <= diagonal) ? before[i] : 0);
    }
    CHECK(wrong == 0);
}

TEST_CASE("triu accepts matrices without elements and refuses other ranks") {
    diopiContext ctx(cpu_device());
    const auto none = unwritten({3, 0}, Dtype::float32), row = unwritten({3}, Dtype::float32);
    CHECK(cpu::diopiTriuInp(&ctx, none.get(), 0) == diopiSuccess);
    CHECK(cpu::diopiTriuInp(&ctx, row.get(), 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiTriuInp: input has shape (3,), wanted 2 to 16 dimensions");
    CHECK(cpu::diopiTriu(&ctx, none.get(), unwritten({2, 2}, Dtype::float32).get(), 0) == diopiErrorOccurred);
    CHECK(cpu::diopiTriu(&ctx, none.get(), unwritten({3, 0}, Dtype::float64).get(), 0) == diopiDtypeNotSupported);
}
