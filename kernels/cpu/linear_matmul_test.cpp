#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Row-major (m, k) times (k, n), added to c.
void add_product(const double* a, const double* b, double* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

diopiScalar_t number(double x) {
    diopiScalar_t scalar{};
    scalar.stype = diopi_dtype_float64;
    scalar.fval = x;
    return scalar;
}

Values transposed(const Values& a, int64_t batch, int64_t rows, int64_t columns) {
    Values out(a.size());
    for (int64_t i = 0; i < batch; ++i)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c)
                out[static_cast<size_t>((i * columns + c) * rows + r)] =
                    a[static_cast<size_t>((i * rows + r) * columns + c)];
    return out;
}

/// Dims of a product and which matrix of each operand belongs to the i-th of the batch.
struct Layout {
    Shape input, other, out;
    int64_t m, n, k;
    std::vector<int64_t> from_input, from_other;
};

const Layout kLayouts[] = {
    {{3, 4}, {4, 2}, {3, 2}, 3, 2, 4, {0}, {0}},
    {{5}, {5}, {}, 1, 1, 5, {0}, {0}},
    {{2, 3, 4}, {4, 5}, {2, 3, 5}, 3, 5, 4, {0, 1}, {0, 0}},
    {{3, 4}, {2, 4, 5}, {2, 3, 5}, 3, 5, 4, {0, 0}, {0, 1}},
    {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}, 3, 5, 4, {0, 1}, {0, 1}},
    {{2, 1, 3, 4}, {1, 2, 4, 5}, {2, 2, 3, 5}, 3, 5, 4, {0, 0, 1, 1}, {0, 1, 0, 1}},
    {{2, 1, 3, 4}, {2, 2, 4, 5}, {2, 2, 3, 5}, 3, 5, 4, {0, 0, 1, 1}, {0, 1, 2, 3}},
    {{2, 3, 4}, {4}, {2, 3}, 3, 1, 4, {0, 1}, {0, 0}},
    {{4}, {2, 4, 5}, {2, 5}, 1, 5, 4, {0, 0}, {0, 1}},
};

}  // namespace

TEST_CASE("matmul and its gradients broadcast batches, for every dtype and strides") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool strided = GENERATE(false, true);
    const Layout& s = kLayouts[GENERATE(range(0, 9))];
    const auto strides = [&](const Shape& shape) { return strided ? scattered(shape) : Shape{}; };
    const auto a = random(s.input, dtype, 1, strides(s.input)), b = random(s.other, dtype, 2, strides(s.other));
    const auto g = random(s.out, dtype, 3, strides(s.out)), y = unwritten(s.out, dtype, strides(s.out));
    const auto ga = unwritten(s.input, dtype, strides(s.input)), gb = unwritten(s.other, dtype);
    const Values av = values(*a), bv = values(*b), gv = values(*g);
    const auto count = static_cast<int64_t>(s.from_input.size());
    const Values at = transposed(av, a->numel() / (s.m * s.k), s.m, s.k);
    const Values bt = transposed(bv, b->numel() / (s.k * s.n), s.k, s.n);
    Values out(gv.size()), to_a(av.size()), to_b(bv.size());
    for (int64_t i = 0; i < count; ++i) {
        const int64_t from_a = s.from_input[static_cast<size_t>(i)] * s.m * s.k;
        const int64_t from_b = s.from_other[static_cast<size_t>(i)] * s.k * s.n;
        const double* grad = gv.data() + i * s.m * s.n;
        add_product(av.data() + from_a, bv.data() + from_b, out.data() + i * s.m * s.n, s.m, s.n, s.k);
        add_product(grad, bt.data() + from_b, to_a.data() + from_a, s.m, s.k, s.n);
        add_product(at.data() + from_a, grad, to_b.data() + from_b, s.k, s.n, s.m);
    }
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMatmul(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    check_close(*y, out);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, ga.get(), gb.get(), g.get(), a.get(), b.get()) == diopiSuccess);
    check_close(*ga, to_a);
    check_close(*gb, to_b);
    const auto only = unwritten(s.other, dtype);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, nullptr, only.get(), g.get(), a.get(), b.get()) == diopiSuccess);
    check_close(*only, to_b);
}

TEST_CASE("a transposed view is multiplied as it lies") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto a = random({9, 33}, dtype, 1, {1, 9}), b = random({33, 17}, dtype, 2, {1, 33});
    const auto y = unwritten({9, 17}, dtype);
    Values expected(9 * 17);
    add_product(values(*a).data(), values(*b).data(), expected.data(), 9, 17, 33);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMm(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    check_close(*y, expected, 64);
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

TEST_CASE("addmm and baddbmm weigh their terms, a beta of 0 leaves input out") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto [beta, alpha] = GENERATE(table<double, double>({{1, 1}, {0.5, -2}, {0, 1}, {0, 0.25}}));
    const auto a = random({4, 5}, dtype, 1), b = random({5, 3}, dtype, 2), y = unwritten({4, 3}, dtype);
    const auto addend = beta == 0 ? tensor({3}, dtype, Values(3, std::nan(""))) : random({3}, dtype, 3);
    Values plain(12), expected(12);
    add_product(values(*a).data(), values(*b).data(), plain.data(), 4, 3, 5);
    const Values added = values(*addend);
    for (size_t i = 0; i < 12; ++i) expected[i] = alpha * plain[i] + (beta == 0 ? 0 : beta * added[i % 3]);
    const diopiScalar_t beta_number = number(beta), alpha_number = number(alpha);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiAddmm(&ctx, y.get(), addend.get(), a.get(), b.get(), &beta_number, &alpha_number) ==
            diopiSuccess);
    check_close(*y, expected, 64);
    const auto inout = tensor({1, 4, 3}, dtype, Values(12, 2));
    const auto a3 = tensor({1, 4, 5}, dtype, values(*a)), b3 = tensor({1, 5, 3}, dtype, values(*b));
    REQUIRE(cpu::diopiBaddbmmInp(&ctx, inout.get(), a3.get(), b3.get(), beta, alpha) == diopiSuccess);
    for (size_t i = 0; i < 12; ++i) expected[i] = alpha * plain[i] + beta * 2;
    check_close(*inout, expected, 64);
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
