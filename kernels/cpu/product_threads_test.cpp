/// Products, factors, solutions and convolutions have the same bits for any number of threads.
#include <omp.h>

#include <functional>

#include "kernels/cpu/conv.hpp"
#include "kernels/cpu/conv_transpose.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Numbers of many magnitudes, whose sums depend on the order of the additions.
TensorPtr uneven(const Shape& shape, Dtype dtype, uint32_t seed, const Shape& strides = {}) {
    Values from(static_cast<size_t>(numel(shape)));
    uint32_t state = seed * 2654435761U + 12345U;
    for (double& x : from) {
        state = state * 1664525U + 1013904223U;
        const double fraction = 1 + static_cast<double>(state >> 8) * 0x1p-24;
        x = std::ldexp(state & 0x80 ? fraction : -fraction, -static_cast<int>((state >> 8) % 9));
    }
    return tensor(shape, dtype, from, strides);
}

/// Runs `compute`, which writes `outputs`, with each number of threads, and compares the results with those of one.
void check_threads(const std::vector<TensorPtr>& outputs, const std::function<diopiError_t(diopiContext&)>& compute) {
    const int before = omp_get_max_threads();
    std::vector<Values> expected;
    for (const int threads : {1, 2, 3, 8}) {
        INFO(threads << " threads");
        omp_set_num_threads(threads);
        diopiContext ctx(cpu_device());
        const diopiError_t error = compute(ctx);
        omp_set_num_threads(before);
        REQUIRE(error == diopiSuccess);
        std::vector<Values> got;
        for (const TensorPtr& t : outputs) got.push_back(values(*t));
        if (threads == 1) expected = got;
        for (size_t i = 0; i < got.size(); ++i) {
            INFO("output " << i << " of " << got.size());
            CHECK((got[i] == expected[i]));
        }
    }
}

constexpr Dtype kComputed[] = {Dtype::float32, Dtype::bfloat16, Dtype::float64};

}  // namespace

TEST_CASE("a product of matrices has the same bits for any number of threads") {
    struct Size {
        int64_t m, n, k;
    };
    const Dtype dtype = kComputed[GENERATE(range(0, 3))];
    const auto s = GENERATE(Size{64, 64, 4096}, Size{8, 8, 20000}, Size{200, 10, 2500}, Size{300, 1, 2048},
                            Size{1, 300, 2048}, Size{130, 140, 150}, Size{7, 5, 1024}, Size{1, 1, 50000});
    const int form = GENERATE(0, 1, 2, 3);
    INFO(s.m << " x " << s.n << " x " << s.k << ", form " << form << " " << name(dtype));
    const auto a = uneven({s.m, s.k}, dtype, 1, form & 1 ? Shape{1, s.m} : Shape{});
    const auto b = uneven({s.k, s.n}, dtype, 2, form & 2 ? Shape{1, s.k} : Shape{});
    const auto y = unwritten({s.m, s.n}, dtype);
    check_threads({y}, [&](diopiContext& ctx) { return cpu::diopiMm(&ctx, y.get(), a.get(), b.get()); });
}

TEST_CASE("own products in float32 are those in float64, and have the same bits for any number of threads") {
    const int64_t m = GENERATE(1, 13, 130), n = GENERATE(1, 37, 1030), k = GENERATE(1, 300);
    const auto number = [](int64_t i) { return static_cast<double>(i * 7919 % 64 - 32) / 8; };
    std::vector<float> a, b;
    for (int64_t i = 0; i < m * k; ++i) a.push_back(static_cast<float>(number(i)));
    for (int64_t i = 0; i < k * n; ++i) b.push_back(static_cast<float>(number(i + 5)));
    const std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
    std::vector<double> expected(static_cast<size_t>(m * n), 1.0);
    cpu::gemm<double>(m, n, k, {wide_a.data(), 1, m}, {wide_b.data(), n, 1}, expected.data(), n, true);
    const int before = omp_get_max_threads();
    for (const int threads : {1, 3}) {
        std::vector<float> c(static_cast<size_t>(m * n), 1.0F);
        omp_set_num_threads(threads);
        cpu::gemm<float>(m, n, k, {a.data(), 1, m}, {b.data(), n, 1}, c.data(), n, true);
        omp_set_num_threads(before);
        // Multiples of 1/64 below 2^18: every sum is exact.
        CHECK((Values(c.begin(), c.end()) == expected));
    }
}

TEST_CASE("batches of products and the gradients of linear have the same bits for any number of threads") {
    const Dtype dtype = kComputed[GENERATE(range(0, 3))];
    const auto a = uneven({3, 7, 3000}, dtype, 1, {21000, 1, 7}), b = uneven({3, 3000, 5}, dtype, 2);
    const auto y = unwritten({3, 7, 5}, dtype);
    check_threads({y}, [&](diopiContext& ctx) { return cpu::diopiBmm(&ctx, y.get(), a.get(), b.get()); });
    const auto x = uneven({2048, 40}, dtype, 3), w = uneven({48, 40}, dtype, 4), g = uneven({2048, 48}, dtype, 5);
    const auto gx = unwritten({2048, 40}, dtype), gw = unwritten({48, 40}, dtype), gb = unwritten({48}, dtype);
    check_threads({gx, gw, gb}, [&](diopiContext& ctx) {
        return cpu::diopiLinearBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get());
    });
}

TEST_CASE("batches of products that need few threads have the same bits for any number of them") {
    struct Size {
        int64_t batch, m, n, k;
    };
    const auto s = GENERATE(Size{2, 64, 49, 128}, Size{5, 96, 100, 160}, Size{3, 128, 196, 64}, Size{6, 11, 50, 21},
                            Size{2, 37, 57, 74}, Size{4, 60, 58, 63}, Size{3, 300, 280, 300});
    const int form = GENERATE(0, 1, 2, 3);
    INFO(s.batch << " of " << s.m << " x " << s.n << " x " << s.k << ", form " << form);
    const Dtype dtype = Dtype::bfloat16;
    const auto a = uneven({s.batch, s.m, s.k}, dtype, 1, form & 1 ? Shape{s.m * s.k, 1, s.m} : Shape{});
    const auto b = uneven({s.batch, s.k, s.n}, dtype, 2, form & 2 ? Shape{s.k * s.n, 1, s.k} : Shape{});
    const auto y = unwritten({s.batch, s.m, s.n}, dtype);
    check_threads({y}, [&](diopiContext& ctx) { return cpu::diopiBmm(&ctx, y.get(), a.get(), b.get()); });
}

TEST_CASE("factors of matrices and solutions of triangular systems have the same bits for any number of threads") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const int64_t n = 300, columns = GENERATE(1, 40, 130, 500);
    Values numbers = values(*uneven({n, n}, dtype, 1));
    for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i * (n + 1))] = 4 * n;
    const auto mat = tensor({n, n}, dtype, numbers), b = uneven({n, columns}, dtype, 2);
    const auto factor = unwritten({n, n}, dtype), info = unwritten({}, Dtype::int64);
    const auto x = unwritten({n, columns}, dtype), copy = unwritten({n, n}, dtype);
    check_threads({factor, x}, [&](diopiContext& ctx) {
        const diopiError_t error = cpu::diopiCholesky(&ctx, factor.get(), info.get(), mat.get(), false, true);
        if (error != diopiSuccess) return error;
        return cpu::diopiTriangularSolve(&ctx, x.get(), copy.get(), b.get(), mat.get(), true, false, false);
    });
}

TEST_CASE("a convolution and its gradients have the same bits for any number of threads") {
    struct Layer {
        Shape input, weight;
        int64_t stride, padding, groups;
    };
    const Dtype dtype = kComputed[GENERATE(range(0, 3))];
    const auto s =
        GENERATE(Layer{{8, 32, 28, 28}, {32, 32, 3, 3}, 1, 1, 1}, Layer{{2, 3, 64, 64}, {16, 3, 7, 7}, 2, 3, 1},
                 Layer{{2, 64, 7, 7}, {128, 64, 1, 1}, 1, 0, 1}, Layer{{4, 32, 28, 28}, {32, 1, 3, 3}, 1, 1, 32},
                 Layer{{5, 7, 13, 13}, {9, 7, 3, 3}, 2, 1, 1}, Layer{{1, 48, 14, 14}, {96, 48, 3, 3}, 1, 1, 1},
                 Layer{{6, 64, 14, 14}, {64, 16, 3, 3}, 1, 1, 4}, Layer{{1, 515, 5, 5}, {35, 515, 3, 3}, 1, 1, 1},
                 Layer{{4, 32, 6, 9, 10}, {32, 32, 3, 3, 3}, 1, 1, 1});
    const bool last = GENERATE(false, true);
    INFO(to_string(s.input) << " by " << to_string(s.weight) << " " << name(dtype) << " channels last: " << last);
    const size_t sides = s.input.size() - 2;
    Shape out{s.input[0], s.weight[0]};
    for (size_t d = 2; d < s.input.size(); ++d) {
        out.push_back((s.input[d] + 2 * s.padding - s.weight[d]) / s.stride + 1);
    }
    const auto strides = [&](const Shape& shape) { return last ? channels_last(shape) : Shape{}; };
    const auto x = uneven(s.input, dtype, 1, strides(s.input)), w = uneven(s.weight, dtype, 2, strides(s.weight));
    const auto g = uneven(out, dtype, 3, strides(out)), y = unwritten(out, dtype, strides(out));
    const auto gx = unwritten(s.input, dtype, strides(s.input)), gw = unwritten(s.weight, dtype, strides(s.weight));
    const IntList stride{s.stride}, padding{s.padding}, one{1};
    check_threads({y}, [&](diopiContext& ctx) {
        return cpu::convolution(&ctx, "op", sides, y.get(), x.get(), w.get(), nullptr, list(stride), list(padding),
                                list(one), s.groups);
    });
    check_threads({gx, gw}, [&](diopiContext& ctx) {
        return cpu::convolution_backward(&ctx, "op", sides, gx.get(), gw.get(), nullptr, g.get(), x.get(), w.get(),
                                         nullptr, list(stride), list(padding), list(one), s.groups);
    });
}

TEST_CASE("transposed convolutions of windows side by side have the same bits for any number of threads") {
    struct Layer {
        Shape input, weight;
        IntList stride;
    };
    const Dtype dtype = kComputed[GENERATE(range(0, 3))];
    const auto s =
        GENERATE(Layer{{4, 64, 14, 14}, {64, 64, 2, 2}, {2}}, Layer{{8, 24, 28, 28}, {24, 24, 2, 2}, {2}},
                 Layer{{1, 48, 40, 40}, {48, 20, 3, 3}, {3}}, Layer{{2, 16, 8, 7, 9}, {16, 12, 2, 1, 4}, {2, 1, 4}});
    INFO(to_string(s.input) << " by " << to_string(s.weight) << " " << name(dtype));
    const size_t sides = s.input.size() - 2;
    Shape out{s.input[0], s.weight[1]};
    for (size_t d = 2; d < s.input.size(); ++d) out.push_back(s.input[d] * s.weight[d]);
    const auto x = uneven(s.input, dtype, 1), w = uneven(s.weight, dtype, 2), g = uneven(out, dtype, 3);
    const auto y = unwritten(out, dtype), gx = unwritten(s.input, dtype), gw = unwritten(s.weight, dtype);
    const IntList none{0}, one{1};
    check_threads({y}, [&](diopiContext& ctx) {
        return cpu::conv_transpose(&ctx, "op", sides, y.get(), x.get(), w.get(), nullptr, list(s.stride), list(none),
                                   list(none), 1, list(one));
    });
    check_threads({gx, gw}, [&](diopiContext& ctx) {
        return cpu::conv_transpose_backward(&ctx, "op", sides, gx.get(), gw.get(), nullptr, g.get(), x.get(), w.get(),
                                            nullptr, list(s.stride), list(none), list(one), list(none), 1);
    });
}
