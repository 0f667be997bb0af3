#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

diopiError_t argmax(const TensorPtr& out, const TensorPtr& in, const int64_t* dim) {
    return cpu::diopiArgmax(&context, out.get(), in.get(), dim, false);
}

/// First greatest element of each line along dim, NaN above all.
Values naive_argmax(const TensorPtr& in, size_t dim) {
    const Values all = values(in);
    const int64_t n = in->shape[dim];
    int64_t inner = 1;
    for (size_t d = dim + 1; d < in->shape.size(); ++d) inner *= in->shape[d];
    Values result;
    for (int64_t o = 0; o < in->numel() / (n * inner); ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            const auto at = [&](int64_t k) { return all[size_t((o * n + k) * inner + i)]; };
            int64_t best = 0;
            for (int64_t k = 1; k < n; ++k) {
                if (at(k) > at(best) || (std::isnan(at(k)) && !std::isnan(at(best)))) best = k;
            }
            result.push_back(double(best));
        }
    }
    return result;
}

}  // namespace

TEST_CASE("argmax along each dimension, for every dtype and layout", "[cpu][reduction]") {
    for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int16, Dtype::int32, Dtype::int64, Dtype::float16,
                              Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::boolean}) {
        for (const Shape& layout : {Shape{}, Shape{1, 5, 200}, Shape{6000, 2, 80}}) {
            const auto in = generate(
                dtype, {5, 40, 75}, [](int64_t i) { return double((i * i + 5 * i) % 101) - 20; }, layout);
            for (size_t d = 0; d < 3; ++d) {
                Shape shape = in->shape;
                shape.erase(shape.begin() + int64_t(d));
                const auto out = blank(Dtype::int64, shape), narrow = blank(Dtype::int32, shape);
                const int64_t dim = int64_t(d) - (d == 1 ? 3 : 0);
                REQUIRE(argmax(out, in, &dim) == diopiSuccess);
                REQUIRE(argmax(narrow, in, &dim) == diopiSuccess);
                INFO(name(dtype) << " dim " << d << " strides " << to_string(layout));
                CHECK(same(values(out), naive_argmax(in, d)));
                CHECK(same(values(narrow), naive_argmax(in, d)));
            }
        }
    }
}

TEST_CASE("argmax without dim counts in row-major order", "[cpu][reduction]") {
    const auto out = blank(Dtype::int64, {});
    const auto in = tensor(Dtype::float32, {2, 3}, {1, 2, 9, 4, 9, 6}, {1, 2});
    REQUIRE(argmax(out, in, nullptr) == diopiSuccess);
    CHECK(values(out) == Values{2});
    for (const int64_t n : {1, 31, 32, 33, 1024, 1025, 5000}) {
        for (const int64_t peak : {int64_t{0}, n / 2, n - 1}) {
            const auto x = generate(Dtype::float32, {n}, [=](int64_t i) { return i == peak ? -1.0 : -2.0; });
            REQUIRE(argmax(out, x, nullptr) == diopiSuccess);
            CHECK(values(out) == Values{double(peak)});
        }
    }
}

TEST_CASE("among equals the first wins, and NaN is the greatest", "[cpu][reduction]") {
    const auto out = blank(Dtype::int64, {});
    const auto zeros = generate(Dtype::float32, {3000}, [](int64_t) { return 0.0; });
    REQUIRE(argmax(out, zeros, nullptr) == diopiSuccess);
    CHECK(values(out) == Values{0});
    const auto least = generate(Dtype::float32, {100}, [](int64_t) { return -double(INFINITY); });
    REQUIRE(argmax(out, least, nullptr) == diopiSuccess);
    CHECK(values(out) == Values{0});
    for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
        const auto in =
            generate(dtype, {3000}, [](int64_t i) { return i == 2100 || i == 2990 ? NAN : double(i % 50); });
        REQUIRE(argmax(out, in, nullptr) == diopiSuccess);
        CHECK(values(out) == Values{2100});
        const auto grid = alias(in, {1000, 3}, {3, 1});
        const auto columns = blank(Dtype::int64, {1, 3});
        const int64_t dim = 0;
        REQUIRE(argmax(columns, grid, &dim) == diopiSuccess);
        CHECK(same(values(columns), naive_argmax(grid, 0)));
    }
}

TEST_CASE("argmax of 0-dim and empty tensors, and its refusals", "[cpu][reduction]") {
    const int64_t first = 0, last = -1;
    const auto point = tensor(Dtype::int32, {}, {5});
    const auto out = blank(Dtype::int64, {});
    REQUIRE(argmax(out, point, &last) == diopiSuccess);
    CHECK(values(out) == Values{0});
    const auto single = blank(Dtype::int64, {1});
    REQUIRE(argmax(single, point, &first) == diopiSuccess);
    REQUIRE(argmax(single, tensor(Dtype::float32, {2, 2}, {1, 2, 4, 3}), nullptr) == diopiSuccess);
    CHECK(values(single) == Values{2});
    CHECK(argmax(single, blank(Dtype::float32, {2, 2}), &last) == diopiErrorOccurred);
    const auto empty = blank(Dtype::float32, {12, 0});
    CHECK(argmax(blank(Dtype::int64, {0}), empty, &first) == diopiSuccess);
    CHECK(argmax(blank(Dtype::int64, {12}), empty, &last) == diopiErrorOccurred);
    CHECK(argmax(out, empty, nullptr) == diopiErrorOccurred);
    CHECK(argmax(blank(Dtype::int16, {}), point, nullptr) == diopiDtypeNotSupported);
    CHECK(argmax(out, blank(Dtype::complex64, {2}), nullptr) == diopiDtypeNotSupported);
}
