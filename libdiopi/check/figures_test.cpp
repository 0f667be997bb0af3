#include "check/figures.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "check/testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("figures count NaN and infinity, and describe the other elements", "[check][figures]") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        INFO(name(dtype));
        const TensorFigures figures = figures_of(rounded_to(dtype, {5}, {3, kNan, -1, kInf, 4}));
        CHECK(figures.numel == 5);
        CHECK(figures.inf_or_nan == 2);
        CHECK(figures.min == -1);
        CHECK(figures.max == 4);
        CHECK(figures.mean == 2);
        CHECK(figures.std == Approx(std::sqrt(14.0 / 3)));
        CHECK(figures.norm == Approx(std::sqrt(26.0)));
        CHECK(figures.rms() == Approx(std::sqrt(26.0 / 3)));
    }
}

TEST_CASE("integers and the real parts of complex numbers have figures, too", "[check][figures]") {
    CHECK(figures_of(tensor_of<int16_t>({3}, Dtype::int16, {-5, 1, 1})).mean == -1);
    CHECK(figures_of(tensor_of<uint8_t>({4}, Dtype::boolean, {1, 0, 0, 1})).mean == 0.5);
    const auto complex = tensor_of<std::complex<float>>({2}, Dtype::complex64, {{3, 9}, {5, -9}});
    CHECK(figures_of(complex).mean == 4);
    CHECK(figures_of(complex).max == 5);
}

TEST_CASE("a tensor without a finite element has no figures", "[check][figures]") {
    for (const TensorFigures& figures : {figures_of(oracle_of({0}, {})), figures_of(oracle_of({2}, {kNan, -kInf}))}) {
        CHECK(figures.inf_or_nan == figures.numel);
        CHECK(figures.norm == 0);
        CHECK(figures.rms() == 0);
    }
}

TEST_CASE("zeros of either sign are counted in every dtype and layout", "[check][figures]") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        INFO(name(dtype));
        CHECK(share_of_zeros(rounded_to(dtype, {5}, {0, kNan, -0.0, kInf, 4})) == 0.4);
        CHECK(share_of_zeros(rounded_to(dtype, {2}, {1e-7, -1})) == 0);
    }
    Tensor columns = oracle_of({2, 3}, {0, 0, 1, 1, 2, 2});
    columns.shape = {2};
    columns.strides = {3};
    CHECK(share_of_zeros(columns) == 0.5);
}

TEST_CASE("of a large tensor the zeros of a sample are counted", "[check][figures]") {
    const int64_t n = 3'000'000;
    std::vector<double> numbers(static_cast<size_t>(n), 1.0);
    CHECK(share_of_zeros(oracle_of({n}, numbers)) == 0);
    std::fill(numbers.begin() + n / 2, numbers.end(), 0.0);
    CHECK(share_of_zeros(oracle_of({n}, numbers)) == Approx(0.5).epsilon(0.02));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 3 == 0 ? 0 : 1;
    CHECK(share_of_zeros(oracle_of({n}, numbers)) == Approx(1.0 / 3).epsilon(0.02));
}
