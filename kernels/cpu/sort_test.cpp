#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

/// Whole numbers with ties, NaN now and then.
double mixed(int64_t i) { return i % 97 == 41 ? kNan : static_cast<double>(i * 7919 % 311) - 150; }

bool comes_first(double a, double b, bool descending) {
    if (a != a || b != b) return descending ? a != a && b == b : a == a && b != b;
    return descending ? a > b : a < b;
}

}  // namespace

TEST_CASE("running sums along each dim, both ways, whatever the number of rows", "[cpu][sort]") {
    const auto number = [](int64_t i) { return static_cast<double>(i * 31 % 17) - 8; };
    for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int32}) {
        for (const Shape& shape : {Shape{1, 5, 1}, Shape{3, 19, 7}, Shape{2, 1100, 8}, Shape{1, 21, 300}}) {
            for (const Shape& order : {Shape{}, Shape{shape[1], 1, shape[0] * shape[1]}}) {
                const auto x = generate(dtype, shape, number, order);
                const Values in = values(x);
                for (int64_t dim = 0; dim < 3; ++dim) {
                    const int64_t n = shape[static_cast<size_t>(dim)];
                    const int64_t step = std::accumulate(shape.begin() + dim + 1, shape.end(), int64_t{1},
                                                         [](int64_t a, int64_t b) { return a * b; });
                    Values forward = in, backward = in;
                    for (int64_t i = 0; i < std::ssize(in); ++i) {
                        if (i / step % n > 0) forward[size_t(i)] += forward[size_t(i - step)];
                    }
                    for (int64_t i = std::ssize(in) - 1; i >= 0; --i) {
                        if (i / step % n < n - 1) backward[size_t(i)] += backward[size_t(i + step)];
                    }
                    INFO(name(dtype) << " " << to_string(shape) << " dim " << dim);
                    const auto out = blank(dtype, shape, order);
                    REQUIRE(cpu::diopiCumsum(&context, out.get(), x.get(), dim) == diopiSuccess);
                    CHECK(same(values(out), values(tensor(dtype, shape, forward))));
                    REQUIRE(cpu::diopiCumsumBackward(&context, out.get(), x.get(), dim) == diopiSuccess);
                    CHECK(same(values(out), values(tensor(dtype, shape, backward))));
                }
            }
        }
    }
}

TEST_CASE("a running sum has the same bits alone as among others, along rows and across them", "[cpu][sort]") {
    constexpr int64_t kLong = 1027, kMany = 257;
    for (const bool across : {false, true}) {
        const Shape shape = across ? Shape{kLong, kMany} : Shape{kMany, kLong};
        // The numbers differ so much in size that float64 rounds their sums, too.
        const auto number = [&](int64_t i) {
            const int64_t place = across ? i / kMany : i % kLong;
            return std::ldexp(std::sin(static_cast<double>(place)), static_cast<int>(place % 61));
        };
        const auto x = generate(Dtype::float32, shape, number), out = blank(Dtype::float64, shape);
        REQUIRE(cpu::diopiCumsum(&context, out.get(), x.get(), across ? 0 : 1) == diopiSuccess);
        const Values sums = values(out);
        bool same = true;
        for (int64_t row = 1; row < kMany; ++row) {
            for (int64_t i = 0; i < kLong; ++i) {
                const int64_t first = across ? i * kMany : i, own = across ? first + row : row * kLong + i;
                same = same && sums[static_cast<size_t>(own)] == sums[static_cast<size_t>(first)];
            }
        }
        INFO(across);
        CHECK(same);
    }
}

TEST_CASE("the first elements of long rows are those of the whole order", "[cpu][sort]") {
    for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16}) {
        for (const int64_t n : {63, 64, 65, 129, 5000}) {
            const auto x = generate(dtype, {n}, mixed);
            const Values in = values(x);
            for (const int64_t k : {int64_t{0}, int64_t{1}, n / 8, n / 8 + 1, n}) {
                for (const bool largest : {false, true}) {
                    std::vector<int64_t> order(static_cast<size_t>(n));
                    std::iota(order.begin(), order.end(), 0);
                    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                        return comes_first(in[static_cast<size_t>(a)], in[static_cast<size_t>(b)], largest);
                    });
                    order.resize(static_cast<size_t>(k));
                    INFO(name(dtype) << " " << k << " of " << n << (largest ? " largest" : " smallest"));
                    const auto best = blank(dtype, {k}), places = blank(Dtype::int64, {k});
                    REQUIRE(cpu::diopiTopk(&context, best.get(), places.get(), x.get(), k, 0, largest, true) ==
                            diopiSuccess);
                    CHECK(values(places) == Values(order.begin(), order.end()));
                }
            }
        }
    }
}

TEST_CASE("long rows of wide numbers are sorted, equal ones in their order", "[cpu][sort]") {
    for (const Dtype dtype : {Dtype::int64, Dtype::float64}) {
        const int64_t n = 4000;
        const auto x = generate(dtype, {n}, [](int64_t i) {
            return static_cast<double>(i * 7919 % 1009 - 500) * (i % 3 == 0 ? 1e15 : 1.0);
        });
        const Values in = values(x);
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t a, int64_t b) { return in[static_cast<size_t>(a)] < in[static_cast<size_t>(b)]; });
        const auto sorted = blank(dtype, {n}), places = blank(Dtype::int64, {n});
        const bool stable = true;
        REQUIRE(cpu::diopiSort(&context, sorted.get(), places.get(), x.get(), 0, false, &stable) == diopiSuccess);
        INFO(name(dtype));
        CHECK(values(places) == Values(order.begin(), order.end()));
    }
}
