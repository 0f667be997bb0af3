#include <omp.h>

#include <utility>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("functions that take elements by their places refuse places that do not exist, and write nothing") {
    diopiContext ctx(cpu_device());
    const auto x = random({3, 2}, Dtype::float32, 1), y = unwritten({1, 2}, Dtype::float32);
    const auto whole = unwritten({3, 2}, Dtype::float32), g = random({1, 2}, Dtype::float32, 2);
    const diopiScalar_t one{diopi_dtype_float64, {.fval = 1}};
    diopiTensorHandle_t made = nullptr;
    for (const double place : {3.0, -4.0}) {
        const auto at = tensor({1}, Dtype::int64, {place}), each = tensor({1, 2}, Dtype::int64, {place, 0});
        diopiConstTensorHandle_t indices[] = {at.get()};
        CHECK(cpu::diopiIndexSelect(&ctx, y.get(), x.get(), 0, at.get()) == diopiErrorOccurred);
        CHECK(cpu::diopiGather(&ctx, y.get(), x.get(), 0, each.get()) == diopiErrorOccurred);
        CHECK(cpu::diopiGatherBackward(&ctx, whole.get(), g.get(), x.get(), 0, each.get()) == diopiErrorOccurred);
        CHECK(cpu::diopiScatter(&ctx, whole.get(), x.get(), 0, g.get(), each.get(), "add") == diopiErrorOccurred);
        CHECK(cpu::diopiIndexFillScalar(&ctx, whole.get(), x.get(), 0, at.get(), &one) == diopiErrorOccurred);
        CHECK(cpu::diopiIndex(&ctx, &made, x.get(), indices, 1) == diopiErrorOccurred);
        CHECK(cpu::diopiIndexPut(&ctx, whole.get(), x.get(), g.get(), indices, 1, true) == diopiErrorOccurred);
        CHECK(cpu::diopiEmbeddingRenorm_(&ctx, whole.get(), at.get(), 1, 2) == diopiErrorOccurred);
    }
    CHECK(made == nullptr);
    CHECK(values(*y) == Values(2, 12345));
    CHECK(values(*whole) == Values(6, 12345));
    const auto last = tensor({1}, Dtype::int64, {-1});
    diopiConstTensorHandle_t from_end[] = {last.get()};
    CHECK(cpu::diopiIndexSelect(&ctx, y.get(), x.get(), 0, last.get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiIndexSelect: an index holds -1, but there are 3 places");
    REQUIRE(cpu::diopiIndex(&ctx, &made, x.get(), from_end, 1) == diopiSuccess);
    CHECK(values(*made) == Values{values(*x)[4], values(*x)[5]});
}

TEST_CASE(
    "gather takes each element by its place along any dim, in any order of the memory, and refuses wrong places") {
    const Shape shape = GENERATE(Shape{90, 130}, Shape{7, 1300}, Shape{1, 70'000});
    const int64_t dim = GENERATE(0, 1), rows = shape[0], columns = shape[1];
    const Shape by_columns = {1, rows};
    const Shape index_strides = GENERATE(false, true) ? by_columns : Shape();
    const Shape out_strides = GENERATE(false, true) ? by_columns : Shape();
    const int threads = GENERATE(1, 2), before = omp_get_max_threads();
    const auto x = random(shape, Dtype::float32, 1);
    Values places(static_cast<size_t>(rows * columns)), expected(places.size());
    const Values from = values(*x);
    const int64_t size = shape[static_cast<size_t>(dim)];
    for (int64_t i = 0; i < std::ssize(places); ++i) {
        const int64_t place = i * 7 % size, row = i / columns, column = i % columns;
        places[static_cast<size_t>(i)] = static_cast<double>(place);
        expected[static_cast<size_t>(i)] =
            from[static_cast<size_t>(dim == 0 ? place * columns + column : row * columns + place)];
    }
    const auto y = unwritten(shape, Dtype::float32, out_strides);
    diopiContext ctx(cpu_device());
    const auto gather = [&] {
        const auto at = tensor(shape, Dtype::int64, places, index_strides);
        omp_set_num_threads(threads);
        const diopiError_t error = cpu::diopiGather(&ctx, y.get(), x.get(), dim, at.get());
        omp_set_num_threads(before);
        return error;
    };
    REQUIRE(gather() == diopiSuccess);
    CHECK(values(*y) == expected);
    for (const size_t wrong : {size_t{0}, places.size() / 2, places.size() - 1}) {
        const double right = std::exchange(places[wrong], static_cast<double>(size));
        CHECK(gather() == diopiErrorOccurred);
        CHECK(last_error() == "diopiGather: an index holds " + std::to_string(size) + ", but there are " +
                                  std::to_string(size) + " places");
        places[wrong] = right;
    }
}

TEST_CASE("many terms on one place lose nothing") {
    diopiContext ctx(cpu_device());
    constexpr int64_t kTerms = 1 << 12;
    const auto third = static_cast<double>(1.0F / 3);
    const auto terms = tensor({kTerms}, Dtype::float32, Values(kTerms, third));
    const auto at = tensor({kTerms}, Dtype::int64, Values(kTerms, 1.0));
    const auto x = tensor({2}, Dtype::float32, {5, 7}), y = unwritten({2}, Dtype::float32);
    const double sum = static_cast<double>(kTerms) * third;
    REQUIRE(cpu::diopiGatherBackward(&ctx, y.get(), terms.get(), x.get(), 0, at.get()) == diopiSuccess);
    CHECK(values(*y) == Values{0, static_cast<float>(sum)});
    REQUIRE(cpu::diopiScatter(&ctx, y.get(), x.get(), 0, terms.get(), at.get(), "add") == diopiSuccess);
    CHECK(values(*y) == Values{5, static_cast<float>(7 + sum)});
    diopiConstTensorHandle_t index[] = {at.get()};
    REQUIRE(cpu::diopiIndexPut(&ctx, y.get(), x.get(), terms.get(), index, 1, true) == diopiSuccess);
    CHECK(values(*y) == Values{5, static_cast<float>(7 + sum)});
    diopiConstTensorHandle_t again[] = {at.get()};
    REQUIRE(cpu::diopiIndexBackward(&ctx, y.get(), x.get(), again, 1, terms.get()) == diopiSuccess);
    CHECK(values(*y) == Values{0, static_cast<float>(sum)});
    const auto one = tensor({1}, Dtype::float32, {5}), of_one = unwritten({1}, Dtype::float32);
    const auto mask = tensor({kTerms}, Dtype::boolean, Values(kTerms, 1.0));
    REQUIRE(cpu::diopiMaskedSelectBackward(&ctx, of_one.get(), terms.get(), one.get(), mask.get()) == diopiSuccess);
    CHECK(values(*of_one) == Values{static_cast<float>(sum)});
    const auto rows = tensor({2, kTerms}, Dtype::float32, Values(2 * kTerms, third));
    const auto of_rows = unwritten({2, 2}, Dtype::float32);
    REQUIRE(cpu::diopiIndexSelectBackward(&ctx, of_rows.get(), rows.get(), {of_rows->shape.data(), 2}, 1, at.get()) ==
            diopiSuccess);
    CHECK(values(*of_rows) == Values{0, static_cast<float>(sum), 0, static_cast<float>(sum)});
}

TEST_CASE("a mask has a source for each of its true elements") {
    diopiContext ctx(cpu_device());
    const auto x = random({4}, Dtype::float32, 1), y = unwritten({4}, Dtype::float32);
    const auto mask = tensor({4}, Dtype::boolean, {1, 0, 1, 1}), two = random({2}, Dtype::float32, 2);
    CHECK(cpu::diopiMaskedScatter(&ctx, y.get(), x.get(), mask.get(), two.get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiMaskedScatter: source has 2 elements, wanted 3");
    CHECK(values(*y) == Values(4, 12345));
}

TEST_CASE("a copy in another memory format has its strides, and that number") {
    diopiContext ctx(cpu_device());
    const auto x = random({2, 3, 4, 5}, Dtype::float32, 1);
    diopiTensorHandle_t made = nullptr, back = nullptr;
    int64_t format = -1;
    REQUIRE(cpu::diopiContiguous(&ctx, &made, x.get(), diopiMemoryFormat_ChannelsLast) == diopiSuccess);
    CHECK(made->strides == Shape{60, 1, 15, 3});
    CHECK(values(*made) == values(*x));
    REQUIRE(cpu::diopiGetNativeMemoryFormat(&ctx, made, &format) == diopiSuccess);
    CHECK(format == diopiMemoryFormat_ChannelsLast);
    REQUIRE(cpu::diopiNativeMemoryFormatCast(&ctx, &back, made, diopiMemoryFormat_Contiguous) == diopiSuccess);
    CHECK(back->strides == Shape{60, 20, 5, 1});
    CHECK(values(*back) == values(*x));
    REQUIRE(cpu::diopiGetNativeMemoryFormat(&ctx, back, &format) == diopiSuccess);
    CHECK(format == diopiMemoryFormat_Contiguous);
    CHECK(cpu::diopiContiguous(&ctx, &made, x.get(), diopiMemoryFormat_ChannelsLast3d) == diopiErrorOccurred);
    CHECK(cpu::diopiTensorDestructionHook(&ctx, x->data()) == diopiSuccess);
}

TEST_CASE("rows of a gradient are the same for any number of threads, also where few of them have all terms") {
    diopiContext ctx(cpu_device());
    constexpr int64_t kPlanes = 3, kRows = 5, kTerms = 64, kSize = 1024;
    Values terms, expected, places;
    for (int64_t k = 0; k < kTerms; ++k) places.push_back(k % 4 == 0 ? 3 : 4);
    for (int64_t plane = 0; plane < kPlanes; ++plane) {
        for (int64_t k = 0; k < kTerms; ++k) terms.insert(terms.end(), kSize, static_cast<double>(plane + 1));
        for (const double count : {0, 0, 0, 16, 48}) {
            expected.insert(expected.end(), kSize, count * static_cast<double>(plane + 1));
        }
    }
    const auto grad = tensor({kPlanes, kTerms, kSize}, Dtype::float32, terms);
    const auto at = tensor({kTerms}, Dtype::int64, places);
    int64_t sizes[] = {kPlanes, kRows, kSize};
    const int before = omp_get_max_threads();
    for (const int threads : {1, 2, 3, 8}) {
        INFO(threads << " threads");
        const auto sums = unwritten({kPlanes, kRows, kSize}, Dtype::float32);
        omp_set_num_threads(threads);
        const diopiError_t error = cpu::diopiIndexSelectBackward(&ctx, sums.get(), grad.get(), {sizes, 3}, 1, at.get());
        omp_set_num_threads(before);
        REQUIRE(error == diopiSuccess);
        CHECK(values(*sums) == expected);
    }
}
