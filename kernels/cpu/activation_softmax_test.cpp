#include <limits>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Visits (first, size, stride) of every line along `dim` of row-major values.
template <class Visit>
void for_each_line(const Shape& shape, int64_t dim, Visit&& visit) {
    if (shape.empty()) return visit(size_t{0}, size_t{1}, size_t{1});
    size_t inner = 1, outer = 1;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
        (d < dim ? outer : inner) *= d == dim ? size_t{1} : static_cast<size_t>(shape[static_cast<size_t>(d)]);
    }
    const auto size = static_cast<size_t>(shape[static_cast<size_t>(dim)]);
    for (size_t o = 0; o < outer; ++o)
        for (size_t i = 0; i < inner; ++i) visit(o * size * inner + i, size, inner);
}

Values expected_softmax(const Shape& shape, int64_t dim, const Values& x, bool logarithm) {
    Values out(x.size());
    for_each_line(shape, dim, [&](size_t first, size_t size, size_t stride) {
        double most = -kInf, sum = 0;
        for (size_t k = 0; k < size; ++k) most = std::fmax(most, x[first + k * stride]);
        for (size_t k = 0; k < size; ++k) sum += std::exp(x[first + k * stride] - most);
        for (size_t k = 0; k < size; ++k) {
            const double centred = x[first + k * stride] - most;
            out[first + k * stride] = logarithm ? centred - std::log(sum) : std::exp(centred) / sum;
        }
    });
    return out;
}

Values expected_gradient(const Shape& shape, int64_t dim, const Values& g, const Values& y, bool logarithm) {
    Values grad(g.size());
    for_each_line(shape, dim, [&](size_t first, size_t size, size_t stride) {
        double sum = 0;
        for (size_t k = 0; k < size; ++k) sum += g[first + k * stride] * (logarithm ? 1 : y[first + k * stride]);
        for (size_t k = 0; k < size; ++k) {
            const size_t at = first + k * stride;
            grad[at] = logarithm ? g[at] - std::exp(y[at]) * sum : y[at] * (g[at] - sum);
        }
    });
    return grad;
}

}  // namespace

TEST_CASE("softmax, its logarithm and their gradients along any dimension", "[vectors]") {
    const auto [shape, dim] = GENERATE(table<Shape, int64_t>({{Shape{}, 0},
                                                              {Shape{16}, 0},
                                                              {{1}, 0},
                                                              {{3, 24}, 1},
                                                              {{7, 33}, 0},
                                                              {{2, 128, 24}, 1},
                                                              {{8, 3, 7, 7}, 0},
                                                              {{2, 3, 577}, 2},
                                                              {{2, 5, 1, 130}, 1},
                                                              {{2, 1, 5}, 1}}));
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool logarithm = GENERATE(false, true), strided = GENERATE(false, true);
    const Shape strides = strided ? scattered(shape) : Shape{};
    const auto x = random(shape, dtype, 1, strides), g = random(shape, dtype, 2, strides);
    const auto y = unwritten(shape, dtype, strides), gx = unwritten(shape, dtype);
    diopiContext ctx(cpu_device());
    const int64_t counted = shape.empty() ? -1 : dim - static_cast<int64_t>(shape.size());
    REQUIRE((logarithm ? cpu::diopiLogSoftmax : cpu::diopiSoftmax)(&ctx, y.get(), x.get(), counted) == diopiSuccess);
    const Values expected = expected_softmax(shape, dim, values(*x), logarithm);
    check_close(*y, expected, logarithm ? 8 : 4, logarithm ? 4 : 0.25);
    const auto result = tensor(shape, dtype, expected, strides);
    REQUIRE((logarithm ? cpu::diopiLogSoftmaxBackward : cpu::diopiSoftmaxBackward)(&ctx, gx.get(), g.get(),
                                                                                   result.get(), dim) == diopiSuccess);
    check_close(*gx, expected_gradient(shape, dim, values(*g), values(*result), logarithm), 16);
}

TEST_CASE("the exponential of softmax is right from the largest to the smallest result", "[vectors]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const bool column = GENERATE(false, true);
    const double range = dtype == Dtype::float32 ? 110 : 750;
    const int64_t n = 4001;
    Values x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = -range * static_cast<double>(i) / static_cast<double>(n);
    const Shape shape = column ? Shape{n, 3} : Shape{n};
    Values all;
    for (const double each : x) all.insert(all.end(), column ? 3 : 1, each);
    const auto input = tensor(shape, dtype, all), y = unwritten(shape, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiSoftmax(&ctx, y.get(), input.get(), 0) == diopiSuccess);
    const Values from = values(*input), got = values(*y);
    double sum = 0;
    for (size_t i = 0; i < from.size(); i += column ? 3 : 1) sum += std::exp(from[i]);
    const double smallest = dtype == Dtype::float32 ? 0x1p-149 : 0x1p-1074;
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const double wanted = std::exp(from[i]) / sum;
        worst = std::max(worst, std::abs(got[i] - wanted) / std::max(wanted * 2 * roundoff(dtype), smallest));
    }
    CHECK(worst < (column ? 40 : 4));
    CHECK(got.back() == 0);
}

TEST_CASE("softmax of infinities and NaN", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool column = GENERATE(false, true);
    const double nan = std::nan("");
    const Values rows[] = {
        {-kInf, 0, 0, -kInf, 0}, {-kInf, -kInf, -kInf, -kInf, -kInf}, {0, kInf, 0, 1, 2}, {0, 1, nan, 2, 3}};
    const Values expected[] = {{0, 1 / 3., 1 / 3., 0, 1 / 3.}, Values(5, nan), Values(5, nan), Values(5, nan)};
    diopiContext ctx(cpu_device());
    for (size_t i = 0; i < 4; ++i) {
        Values in, out;
        for (size_t k = 0; k < 5; ++k) {
            in.insert(in.end(), column ? 11 : 1, rows[i][k]);
            out.insert(out.end(), column ? 11 : 1, expected[i][k]);
        }
        const Shape shape = column ? Shape{5, 11} : Shape{5};
        const auto y = unwritten(shape, dtype);
        REQUIRE(cpu::diopiSoftmax(&ctx, y.get(), tensor(shape, dtype, in).get(), 0) == diopiSuccess);
        check_close(*y, out);
    }
}

TEST_CASE("softmax does not overflow, wherever the large element is", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto place = GENERATE(size_t{0}, size_t{9}, size_t{60});
    const bool column = GENERATE(false, true);
    Values row(61, -500.0), expected(61, 0.0);
    row[place] = 500, expected[place] = 1;
    const Shape shape = column ? Shape{61, 1, 2} : Shape{61};
    Values in, out;
    for (size_t k = 0; k < row.size(); ++k) {
        in.insert(in.end(), column ? 2 : 1, row[k]);
        out.insert(out.end(), column ? 2 : 1, expected[k]);
    }
    const auto y = unwritten(shape, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiSoftmax(&ctx, y.get(), tensor(shape, dtype, in).get(), 0) == diopiSuccess);
    CHECK(values(*y) == out);
}

TEST_CASE("softmax of empty tensors, into a wider dtype, and along a dimension that does not exist", "[vectors]") {
    diopiContext ctx(cpu_device());
    const auto none = random({16, 0, 7}, Dtype::float32, 1);
    CHECK(cpu::diopiSoftmax(&ctx, none.get(), none.get(), -2) == diopiSuccess);
    CHECK(cpu::diopiLogSoftmaxBackward(&ctx, none.get(), none.get(), none.get(), 1) == diopiSuccess);
    const auto x = random({3, 9}, Dtype::float16, 2), wide = unwritten({3, 9}, Dtype::float64);
    REQUIRE(cpu::diopiLogSoftmax(&ctx, wide.get(), x.get(), 1) == diopiSuccess);
    check_close(*wide, expected_softmax({3, 9}, 1, values(*x), true));
    CHECK(cpu::diopiSoftmax(&ctx, x.get(), x.get(), 2) == diopiErrorOccurred);
    CHECK(last_error().find("dim is 2") != std::string::npos);
}
