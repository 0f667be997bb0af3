#include "check/ulp_histogram.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "check/oracle.hpp"

namespace diopi {

namespace {

UlpHistogram histogram_of(const std::vector<float>& actual, const std::vector<double>& exact,
                          Dtype unit = Dtype::float32) {
    const auto count = static_cast<int64_t>(actual.size());
    const Tensor a = make_host_tensor({count}, Dtype::float32), e = make_host_tensor({count}, Dtype::float64);
    std::copy(actual.begin(), actual.end(), a.data_as<float>());
    std::copy(exact.begin(), exact.end(), e.data_as<double>());
    return ulp_histogram(a, e, unit);
}

}  // namespace

TEST_CASE("each element is in the bin of its error in ulp", "[check][ulp_histogram]") {
    const double u = 0x1p-23;  // one ulp of float32 at 1
    const UlpHistogram histogram =
        histogram_of({1, 1, 1, 1, 1, 1, 1}, {1, 1 + 0.4 * u, 1 + 0.8 * u, 1 + 3 * u, 1 + 60 * u, 1.5, 1 - 5000 * u});
    CHECK(histogram.counts == std::array<int64_t, 10>{2, 1, 0, 1, 0, 0, 1, 0, 2, 0});
    CHECK(histogram.total() == 7);
}

TEST_CASE("NaN and infinity count if only one side has them", "[check][ulp_histogram]") {
    const float inf = HUGE_VALF, nan = std::nanf("");
    const UlpHistogram histogram =
        histogram_of({nan, nan, 1, inf, inf, -inf, 3e38f}, {std::nan(""), 1, HUGE_VAL, HUGE_VAL, 1e300, 1e300, 1e39});
    CHECK(histogram.counts[0] == 3);
    CHECK(histogram.counts[9] == 4);
}

TEST_CASE("distances are counted in the bin whose upper edge they do not exceed", "[check][ulp_histogram]") {
    UlpHistogram histogram;
    for (const double ulps : {0.0, 0.5, 0.51, 1024.0, 1025.0, HUGE_VAL, std::nan("")}) histogram.count(ulps);
    CHECK(histogram.counts == decltype(histogram.counts){2, 1, 0, 0, 0, 0, 0, 1, 2, 1});
}

TEST_CASE("histograms can be added, and the closer one has the smaller mean", "[check][ulp_histogram]") {
    UlpHistogram close = histogram_of({1, 1}, {1, 1}), far = histogram_of({1, 1}, {1, 1.001});
    CHECK(close.mean() < far.mean());
    close.add(far);
    CHECK(close.total() == 4);
    CHECK(close.counts[0] == 3);
}

TEST_CASE("errors can be counted in ulp of another dtype", "[check][ulp_histogram]") {
    const double u = 0x1p-10;  // one ulp of float16 at 1
    const UlpHistogram histogram = histogram_of({1, 1, 70000}, {1 + 0.4 * u, 1 + 3 * u, 70000}, Dtype::float16);
    CHECK(histogram.counts[0] == 2);
    CHECK(histogram.counts[3] == 1);
    CHECK(histogram.total() == 3);
}

}  // namespace diopi
