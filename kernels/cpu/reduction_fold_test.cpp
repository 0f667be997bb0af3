#include <omp.h>

#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

diopiSize_t dims_of(const Shape& dims) { return {dims.data(), static_cast<int64_t>(dims.size())}; }

TensorPtr norm(const TensorPtr& in, double p, const Shape& dims, Shape shape) {
    const auto out = blank(in->dtype, std::move(shape));
    const diopiScalar_t order = scalar(p);
    REQUIRE(cpu::diopiNorm(&context, out.get(), in.get(), &order, dims_of(dims)) == diopiSuccess);
    return out;
}

}  // namespace

TEST_CASE("sums of a million equal terms are as exact as pairwise ones, along rows and across them",
          "[cpu][reduction]") {
    // 64 elements of a tile in each lane, then pairs of 2^14 parts; one after the other it would be about 10^5.
    constexpr double kRoundings = 64 + 14;
    const int64_t n = 1 << 20;
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
        const double term = rounded(dtype, 0.1), roundoff = dtype == Dtype::float32 ? 0x1p-24 : 0x1p-53;
        const auto row = generate(dtype, {n}, [=](int64_t) { return term; });
        const auto columns = generate(dtype, {n / 4, 4}, [=](int64_t) { return term; });
        const double sum = term * static_cast<double>(n);
        CHECK(std::fabs(values(norm(row, 1, {}, {}))[0] - sum) <= kRoundings * roundoff * sum);
        for (const double column : values(norm(columns, 1, {0}, {4}))) {
            CHECK(std::fabs(column - sum / 4) <= kRoundings * roundoff * sum);
        }
        const auto out = blank(dtype, {4});
        REQUIRE(cpu::diopiStd(&context, out.get(), columns.get(), dims_of(Shape{0}), nullptr) == diopiSuccess);
        for (const double column : values(out)) CHECK(column <= kRoundings * roundoff * term);
    }
}

TEST_CASE("a fold gives the same bits with any number of threads", "[cpu][reduction]") {
    const auto in = generate(Dtype::float64, {300, 3001}, [](int64_t i) { return std::sin(double(i * i % 10007)); });
    const int all = omp_get_max_threads();
    std::vector<Values> whole, rows, columns;
    for (const int threads : {1, 2, 5}) {
        omp_set_num_threads(threads);
        whole.push_back(values(norm(in, 3, {}, {})));
        rows.push_back(values(norm(in, 2, {1}, {300})));
        columns.push_back(values(norm(in, 1, {0}, {3001})));
    }
    omp_set_num_threads(all);
    for (const auto* results : {&whole, &rows, &columns}) {
        CHECK(same((*results)[0], (*results)[1]));
        CHECK(same((*results)[0], (*results)[2]));
    }
}

TEST_CASE("many columns are folded, each by itself", "[cpu][reduction]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::bfloat16);
    const int64_t step = GENERATE(1, 2), rows = 37, columns = 9001;
    const auto in = generate(dtype, {rows, columns}, [](int64_t i) { return static_cast<double>(i * 7919 % 11 - 3); },
                             {columns * step, step});
    const Values x = values(in);
    Values sums, greatest, deviations;
    for (int64_t c = 0; c < columns; ++c) {
        double sum = 0, of_sizes = 0, of_squares = 0, most = -kInf;
        for (int64_t r = 0; r < rows; ++r) {
            const double own = x[static_cast<size_t>(r * columns + c)];
            sum += own;
            of_sizes += std::fabs(own);
            of_squares += own * own;
            most = std::max(most, own);
        }
        const double variance = (of_squares - sum * sum / static_cast<double>(rows)) / static_cast<double>(rows - 1);
        sums.push_back(rounded(dtype, of_sizes));
        greatest.push_back(most);
        deviations.push_back(rounded(dtype, std::sqrt(variance)));
    }
    const auto out = blank(dtype, {columns}, {step});
    REQUIRE(cpu::diopiAmax(&context, out.get(), in.get(), dims_of(Shape{0}), false) == diopiSuccess);
    CHECK(values(out) == greatest);
    CHECK(values(norm(in, 1, {0}, {columns})) == sums);
    REQUIRE(cpu::diopiStd(&context, out.get(), in.get(), dims_of(Shape{0}), nullptr) == diopiSuccess);
    CHECK(values(out) == deviations);
}

TEST_CASE("a product wraps, and converts its factors to its own dtype first", "[cpu][reduction]") {
    const auto product = [](Dtype to, const TensorPtr& in) {
        const auto out = blank(to, {});
        REQUIRE(cpu::diopiProd(&context, out.get(), in.get(), nullptr) == diopiSuccess);
        return values(out)[0];
    };
    CHECK(product(Dtype::int8, tensor(Dtype::float32, {2}, {3.7, 2.5})) == 6);
    CHECK(product(Dtype::uint8, tensor(Dtype::int32, {2}, {300, 3})) == 132);
    CHECK(product(Dtype::boolean, tensor(Dtype::int64, {2}, {0x1p32, 0x1p32})) == 1);
    CHECK(product(Dtype::boolean, tensor(Dtype::float32, {3}, {0.5, 0.25, 0})) == 0);
    CHECK(product(Dtype::float32, tensor(Dtype::int64, {0}, {})) == 1);
}

TEST_CASE("extremes of a few rows find NaN wherever it stands", "[cpu][reduction]") {
    for (const int64_t n : {1, 15, 16, 17, 1023, 1025, 70'000}) {
        for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
            const auto in = generate(Dtype::float32, {2, n}, [=](int64_t i) { return i == at ? kNan : double(i % 7); });
            const auto out = blank(Dtype::float32, {2});
            REQUIRE(cpu::diopiAmax(&context, out.get(), in.get(), dims_of(Shape{1}), false) == diopiSuccess);
            CHECK(std::isnan(values(out)[0]));
            CHECK_FALSE(std::isnan(values(out)[1]));
        }
    }
}

TEST_CASE("extremes of rows whose sums are no numbers", "[cpu][reduction]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64, Dtype::bfloat16);
    const double large = dtype == Dtype::float64 ? 0x1p1023 : 0x1p127;
    for (const int64_t n : {100, 1000, 3000}) {
        // Infinities of both signs; numbers whose sum overflows; and NaN in each of the first places.
        const auto in = generate(dtype, {100, n}, [=](int64_t k) {
            const int64_t row = k / n, i = k % n;
            if (row == 0) return i == 3 ? kInf : i == 70 ? -kInf : double(i % 7);
            if (row == 1) return i % 2 == 0 ? large : large / 2;
            return i == row - 2 ? kNan : double(i % 7);
        });
        const auto greatest = blank(dtype, {100}), least = blank(dtype, {});
        REQUIRE(cpu::diopiAmax(&context, greatest.get(), in.get(), dims_of(Shape{1}), false) == diopiSuccess);
        CHECK(values(greatest)[0] == kInf);
        CHECK(values(greatest)[1] == large);
        for (size_t row = 2; row < 100; ++row) CHECK(std::isnan(values(greatest)[row]));
        Values numbers = values(in);
        numbers.resize(static_cast<size_t>(n));
        const auto first = tensor(dtype, {n}, numbers);
        REQUIRE(cpu::diopiMinAll(&context, least.get(), first.get()) == diopiSuccess);
        CHECK(values(least)[0] == -kInf);
    }
}

TEST_CASE("norms of numbers whose squares float32 does not hold, alone and among others", "[cpu][reduction]") {
    const int64_t n = 1000;
    const Dtype dtype = GENERATE(Dtype::bfloat16, Dtype::float32);
    // Three roundings of four squares to float32, halved by the root, and one of the result.
    const double most = dtype == Dtype::bfloat16 ? 0 : 2.5 * 0x1p-24;
    for (const double large : {0.0, 1.1, 0x1p-30, 0x1p30, 0x1.7p100}) {
        for (const double small : {1.0, 0x1.3p-75, 0x1p-100, 0x1.1p90}) {
            const auto in = generate(dtype, {2, n}, [&](int64_t i) { return i % n == 7 ? large : small; });
            const auto out = norm(in, 2, {1}, {2});
            double sum = 0;
            for (const double x : values(in)) sum += x * x / 2;
            const double expected = dtype == Dtype::bfloat16 ? rounded(dtype, std::sqrt(sum)) : std::sqrt(sum);
            INFO(large << " " << small);
            CHECK(std::fabs(values(out)[0] - expected) <= most * expected);
            CHECK(values(out)[1] == values(out)[0]);
        }
    }
}
