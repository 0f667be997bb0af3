#include "replay/capture_results.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "check/testing.hpp"

namespace diopi {

namespace {

using testing::oracle_of;
using testing::tensor_of;

}  // namespace

TEST_CASE("a result is within the tolerance by its root mean square and its own size", "[run][fallback]") {
    const Tensor expected = oracle_of({4}, {3, -4, 0, 5});  // the root mean square is 3.54
    CHECK(distance_of(expected, expected, 0).same);
    const ResultDistance near = distance_of(oracle_of({4}, {3, -4, 0.03, 5}), expected, 0.01);
    CHECK_FALSE(near.same);
    CHECK(near.within);
    CHECK(near.max_abs == 0.03);
    const ResultDistance far = distance_of(oracle_of({4}, {3, -4, 0.04, 5.5}), expected, 0.01);
    CHECK_FALSE(far.within);
    CHECK(far.max_abs == 0.5);
    CHECK(far.max_rel == 0.1);
}

TEST_CASE("NaN is right only where NaN is expected", "[run][fallback]") {
    const double nan = std::nan("");
    CHECK(distance_of(oracle_of({2}, {1, -nan}), oracle_of({2}, {1, nan}), 0).within);
    CHECK_FALSE(distance_of(oracle_of({2}, {1, nan}), oracle_of({2}, {1, 2}), 10).within);
    CHECK_FALSE(distance_of(oracle_of({2}, {1, 2}), oracle_of({2}, {1, nan}), 10).within);
    // The NaN may have any position among numbers that differ.
    const std::vector<std::vector<double>> spoiled = {{nan, 2.5, 3}, {1.5, nan, 3}, {1, 2.5, nan}};
    for (const std::vector<double>& actual : spoiled) {
        const ResultDistance distance = distance_of(oracle_of({3}, actual), oracle_of({3}, {1, 2, 3}), 10);
        CHECK(std::isnan(distance.max_abs));
        CHECK_FALSE(distance.within);
    }
}

TEST_CASE("the imaginary parts of a result count, too", "[run][fallback]") {
    using Complex = std::complex<float>;
    const Tensor expected = tensor_of<Complex>({2}, Dtype::complex64, {{1, 2}, {3, 4}});
    const Tensor actual = tensor_of<Complex>({2}, Dtype::complex64, {{1, 2}, {3, 9}});
    const ResultDistance distance = distance_of(actual, expected, 0.1);
    CHECK_FALSE(distance.within);
    CHECK(distance.max_abs == 5);
}

}  // namespace diopi
