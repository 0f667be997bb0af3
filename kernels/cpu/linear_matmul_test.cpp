#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("the gradients of matmul of strided tensors are those of contiguous ones, and each may be left out") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto [a_shape, b_shape, g_shape] = GENERATE(table<Shape, Shape, Shape>(
        {{{2, 3, 4}, {2, 4, 5}, {2, 3, 5}}, {{2, 1, 3, 4}, {2, 2, 4, 5}, {2, 2, 3, 5}}, {{2, 3, 4}, {4}, {2, 3}}}));
    const auto a = random(a_shape, dtype, 1), b = random(b_shape, dtype, 2), g = random(g_shape, dtype, 3);
    const auto ga = unwritten(a_shape, dtype), gb = unwritten(b_shape, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMatmulBackward(&ctx, ga.get(), gb.get(), g.get(), a.get(), b.get()) == diopiSuccess);
    const auto far = [&](const Tensor& t) { return tensor(t.shape, dtype, values(t), scattered(t.shape)); };
    const auto far_ga = unwritten(a_shape, dtype, scattered(a_shape)), only = unwritten(b_shape, dtype);
    const auto far_a = far(*a), far_b = far(*b), far_g = far(*g);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, far_ga.get(), nullptr, far_g.get(), far_a.get(), far_b.get()) ==
            diopiSuccess);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, nullptr, only.get(), far_g.get(), far_a.get(), far_b.get()) == diopiSuccess);
    CHECK(values(*far_ga) == values(*ga));
    CHECK(values(*only) == values(*gb));
}

TEST_CASE("a transposed view is multiplied as it lies") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto a = random({9, 33}, dtype, 1, {1, 9}), b = random({33, 17}, dtype, 2, {1, 33});
    const auto dense_a = tensor({9, 33}, dtype, values(*a)), dense_b = tensor({33, 17}, dtype, values(*b));
    const auto y = unwritten({9, 17}, dtype), expected = unwritten({9, 17}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMm(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    REQUIRE(cpu::diopiMm(&ctx, expected.get(), dense_a.get(), dense_b.get()) == diopiSuccess);
    check_close(*y, values(*expected), 64);
}

TEST_CASE("a row of a product does not depend on the row behind it, whatever the number of terms") {
    const int64_t m = GENERATE(41, 117), n = GENERATE(79, 195), k = GENERATE(31, 61, 62, 63, 64, 65, 127);
    INFO(m << " x " << n << " x " << k);
    Values rows(static_cast<size_t>(m * k), 1.0);
    for (int64_t i = 0; i < m * k; ++i) {
        if (i / k % 2 == 1) rows[static_cast<size_t>(i)] = NAN;
    }
    const auto a = tensor({m, k}, Dtype::bfloat16, rows);
    const auto b = tensor({k, n}, Dtype::bfloat16, Values(static_cast<size_t>(k * n), 1.0));
    const auto y = unwritten({m, n}, Dtype::bfloat16);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMm(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    const Values got = values(*y);
    for (size_t i = 0; i < got.size(); ++i) {
        const bool is_number = got[i] == static_cast<double>(k);
        if (is_number != (i / static_cast<size_t>(n) % 2 == 0)) FAIL(i << ": " << got[i]);
    }
}

TEST_CASE("products of nothing are zeros, and an empty batch gives gradients of zero") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    diopiContext ctx(cpu_device());
    const auto y = unwritten({2, 3}, dtype);
    REQUIRE(cpu::diopiMm(&ctx, y.get(), unwritten({2, 0}, dtype).get(), unwritten({0, 3}, dtype).get()) ==
            diopiSuccess);
    CHECK(values(*y) == Values(6, 0.0));
    const auto gb = unwritten({1, 3, 2}, dtype), b = random({1, 3, 2}, dtype, 1);
    const auto none = unwritten({0, 4, 3}, dtype), g = unwritten({0, 4, 2}, dtype);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, none.get(), gb.get(), g.get(), none.get(), b.get()) == diopiSuccess);
    CHECK(values(*gb) == Values(6, 0.0));
}

TEST_CASE("a beta of 0 leaves NaN in input out, whatever alpha is") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto alpha = GENERATE(1.0, 0.25);
    const auto a = random({1, 4, 5}, dtype, 1), b = random({1, 5, 3}, dtype, 2), y = unwritten({1, 4, 3}, dtype);
    const auto inout = tensor({1, 4, 3}, dtype, Values(12, kNan));
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBmm(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    REQUIRE(cpu::diopiBaddbmmInp(&ctx, inout.get(), a.get(), b.get(), 0, alpha) == diopiSuccess);
    Values expected = values(*y);
    for (double& x : expected) x *= alpha;
    check_close(*inout, expected);
}

TEST_CASE("the addend of a product may be its output, a row, a column or one number, of any dtype") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))], added = kFloats[GENERATE(range(0, 4))];
    const int64_t m = GENERATE(1, 3, 40);
    // Whole numbers, whose sums are exact in every dtype.
    const auto numbers = [](const Shape& shape, Dtype type, int64_t from) {
        Values made(static_cast<size_t>(numel(shape)));
        for (size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<double>((static_cast<int64_t>(i) * 7 + from) % 5 - 2);
        return tensor(shape, type, made);
    };
    const auto a = numbers({m, 6}, dtype, 0), b = numbers({6, 9}, dtype, 3);
    const auto product = unwritten({m, 9}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMm(&ctx, product.get(), a.get(), b.get()) == diopiSuccess);
    const Shape shape = GENERATE(Shape{9}, Shape{1, 9}, Shape{-1, 1}, Shape{}, Shape{-1, 9});
    Shape addend_shape = shape;
    for (int64_t& size : addend_shape) size = size == -1 ? m : size;
    INFO(name(dtype) << ", addend " << to_string(addend_shape) << " of " << name(added));
    const auto addend = numbers(addend_shape, added, 1);
    Values expected = values(*product);
    const Values terms = values(*addend);
    for (int64_t i = 0; i < m * 9; ++i) {
        const int64_t rows = shape.size() == 2 && shape[0] == -1 ? i / 9 : 0;
        const int64_t columns = shape.empty() || shape.back() == 1 ? 0 : i % 9;
        const int64_t width = shape.empty() ? 1 : shape.back();
        expected[static_cast<size_t>(i)] += terms[static_cast<size_t>(rows * width + columns)];
    }
    const diopiScalar_t one{diopi_dtype_int64, {.ival = 1}};
    const auto out = unwritten({m, 9}, dtype, GENERATE(false, true) ? scattered({m, 9}) : Shape{});
    REQUIRE(cpu::diopiAddmm(&ctx, out.get(), addend.get(), a.get(), b.get(), &one, &one) == diopiSuccess);
    CHECK(values(*out) == expected);
    if (added != dtype || addend_shape != Shape{m, 9}) return;
    REQUIRE(cpu::diopiAddmm(&ctx, addend.get(), addend.get(), a.get(), b.get(), &one, &one) == diopiSuccess);
    CHECK(values(*addend) == expected);
}

TEST_CASE("a batch of scaled products and addends is the same as its float32 sums, rounded once") {
    const auto [beta, alpha] = GENERATE(table<double, double>({{1, 1}, {0.5, -2}, {0, 0.25}, {1, 0.1}}));
    const bool is_shared = GENERATE(false, true), is_row = GENERATE(false, true);
    const int64_t m = GENERATE(1, 33), n = 40, k = GENERATE(0, 17);
    const auto wide = [](const Tensor& t) { return tensor(t.shape, Dtype::float32, values(t)); };
    const auto a = random({3, m, k}, Dtype::bfloat16, 1), b = random({is_shared ? 1 : 3, k, n}, Dtype::bfloat16, 2);
    const auto addend = random(is_row ? Shape{n} : Shape{3, m, n}, Dtype::bfloat16, 3);
    const auto y = unwritten({3, m, n}, Dtype::bfloat16, GENERATE(false, true) ? scattered({3, m, n}) : Shape{});
    const auto sums = unwritten({3, m, n}, Dtype::float32);
    INFO("beta " << beta << ", alpha " << alpha << ", shared " << is_shared << ", row " << is_row << ", " << m << " x "
                 << k);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBaddbmm(&ctx, sums.get(), wide(*addend).get(), wide(*a).get(), wide(*b).get(), beta, alpha) ==
            diopiSuccess);
    REQUIRE(cpu::diopiBaddbmm(&ctx, y.get(), addend.get(), a.get(), b.get(), beta, alpha) == diopiSuccess);
    check_close(*y, values(*sums));
    if (is_row) return;
    const auto inout = tensor({3, m, n}, Dtype::bfloat16, values(*addend));
    REQUIRE(cpu::diopiBaddbmmInp(&ctx, inout.get(), a.get(), b.get(), beta, alpha) == diopiSuccess);
    CHECK(values(*inout) == values(*y));
}

TEST_CASE("factors that do not fit are refused with both shapes") {
    diopiContext ctx(cpu_device());
    const auto f = [](const Shape& shape) { return unwritten(shape, Dtype::float32); };
    CHECK(cpu::diopiMm(&ctx, f({2, 2}).get(), f({2, 3}).get(), f({2, 2}).get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiMm: other has shape (2, 2), wanted 3 rows, as input has columns");
    CHECK(cpu::diopiBmm(&ctx, f({2, 1, 1}).get(), f({2, 1, 1}).get(), f({1, 1, 1}).get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiBmm: mat2 has shape (1, 1, 1), wanted input's batch of 2");
    CHECK(cpu::diopiMatmul(&ctx, f({}).get(), f({}).get(), f({1}).get()) == diopiErrorOccurred);
    const auto whole = unwritten({2, 2}, Dtype::int32);
    CHECK(cpu::diopiMm(&ctx, whole.get(), whole.get(), whole.get()) == diopiDtypeNotSupported);
}
