#include "core/normal.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/philox.hpp"

using namespace diopi;

namespace {

template <class T>
using Block = void (*)(uint64_t, uint64_t, int64_t, std::span<T>);

template <class T>
std::vector<T> sequence(Block<T> block, int64_t first, size_t count, uint64_t key = 42, uint64_t high = 3) {
    std::vector<T> out(count);
    block(key, high, first, out);
    return out;
}

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
    return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

/// Whether pieces of odd sizes at odd places equal the same parts of the whole sequence.
template <class T>
bool any_split_is_equal(Block<T> block) {
    const std::vector<T> whole = sequence<T>(block, 0, 5000);
    for (const size_t step : {1u, 2u, 3u, 5u, 7u, 63u, 1024u, 1027u, 4999u}) {
        std::vector<T> pieces(whole.size());
        for (size_t first = 0; first < pieces.size(); first += step) {
            const size_t count = std::min(step, pieces.size() - first);
            block(42, 3, static_cast<int64_t>(first), std::span<T>(pieces).subspan(first, count));
        }
        if (!same_bytes<T>(whole, pieces)) return false;
    }
    return true;
}

/// Phi, the distribution function of the standard normal.
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Moments {
    double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class T>
Moments moments(const std::vector<T>& numbers) {
    const auto n = static_cast<double>(numbers.size());
    Moments m;
    for (const T x : numbers) m.mean += static_cast<double>(x) / n;
    double third = 0, fourth = 0;
    for (const T x : numbers) {
        const double d = static_cast<double>(x) - m.mean;
        m.variance += d * d / n;
        third += d * d * d / n;
        fourth += d * d * d * d / n;
    }
    m.skewness = third / std::pow(m.variance, 1.5);
    m.kurtosis = fourth / (m.variance * m.variance);
    return m;
}

/// Kolmogorov-Smirnov statistic times sqrt(n): above 1.95 with probability 0.001.
template <class T, class Cdf>
double kolmogorov(std::vector<T> numbers, Cdf cdf) {
    std::ranges::sort(numbers);
    const auto n = static_cast<double>(numbers.size());
    double worst = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        const double p = cdf(static_cast<double>(numbers[i]));
        worst = std::max({worst, static_cast<double>(i + 1) / n - p, p - static_cast<double>(i) / n});
    }
    return worst * std::sqrt(n);
}

template <class T>
void check_normal(const std::vector<T>& numbers) {
    const auto n = static_cast<double>(numbers.size());
    const Moments m = moments(numbers);
    CHECK(std::fabs(m.mean) < 4 / std::sqrt(n));
    CHECK(std::fabs(m.variance - 1) < 4 * std::sqrt(2 / n));
    CHECK(std::fabs(m.skewness) < 4 * std::sqrt(6 / n));
    CHECK(std::fabs(m.kurtosis - 3) < 4 * std::sqrt(24 / n));
    CHECK(kolmogorov(numbers, normal_cdf) < 1.95);
    for (const double limit : {3.0, 4.0, 4.5}) {
        const double expected = 2 * n * normal_cdf(-limit);
        const auto beyond = static_cast<double>(
            std::ranges::count_if(numbers, [&](T x) { return std::fabs(static_cast<double>(x)) > limit; }));
        CHECK(std::fabs(beyond - expected) < 4 * std::sqrt(expected));
    }
    double lag = 0;  // neighbours come from one pair
    for (size_t i = 1; i < numbers.size(); ++i) lag += static_cast<double>(numbers[i - 1] * numbers[i]) / n;
    CHECK(std::fabs(lag) < 4 / std::sqrt(n));
}

}  // namespace

TEST_CASE("words equal those of Random123", "[normal]") {
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, uint64_t{0x0123456789abcdef}, ~uint64_t{0}}) {
        for (const uint64_t high : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
            for (const int64_t block : {int64_t{0}, int64_t{5}, (int64_t{1} << 32) - 100, int64_t{1} << 59}) {
                const std::vector<uint32_t> words = sequence<uint32_t>(word_block, 4 * block, 4 * 1000, key, high);
                size_t wrong = 0;
                for (size_t i = 0; i < words.size(); ++i) {
                    wrong += words[i] != philox(key, static_cast<uint64_t>(block) + i / 4, high)[i % 4];
                }
                REQUIRE(wrong == 0);
            }
        }
    }
}

TEST_CASE("Philox gives the published words for key and counter of zero", "[normal]") {
    CHECK(sequence<uint32_t>(word_block, 0, 4, 0, 0) ==
          std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("numbers do not depend on how a sequence is split", "[normal]") {
    CHECK(any_split_is_equal<uint32_t>(word_block));
    CHECK(any_split_is_equal<float>(uniform_block));
    CHECK(any_split_is_equal<double>(uniform_block));
    CHECK(any_split_is_equal<float>(normal_block));
    CHECK(any_split_is_equal<double>(normal_block));
}

TEST_CASE("numbers follow the mapping in the header", "[normal][vectors]") {
    const std::vector<float> normals = sequence<float>(normal_block, 0, 400);
    const std::vector<double> doubles = sequence<double>(normal_block, 0, 200);
    const std::vector<float> uniforms = sequence<float>(uniform_block, 0, 400);
    const std::vector<double> wide = sequence<double>(uniform_block, 0, 200);
    for (size_t b = 0; b < 100; ++b) {
        const std::array<uint32_t, 4> w = philox(42, b, 3);
        CHECK(normals[4 * b] == std::sqrt(radius_squared(w[0])) * turn(w[1]).cos);
        CHECK(normals[4 * b + 3] == std::sqrt(radius_squared(w[2])) * turn(w[3]).sin);
        CHECK(doubles[2 * b + 1] == std::sqrt(radius_squared(w[0], w[1])) * turn(w[2], w[3]).sin);
        CHECK(uniforms[4 * b + 2] == static_cast<float>(w[2] >> 8) / 16777216.0f);
        CHECK(wide[2 * b + 1] == static_cast<double>(((uint64_t{w[2]} << 32) | w[3]) >> 11) / 9007199254740992.0);
    }
}

TEST_CASE("another key or another counter_high gives other numbers", "[normal]") {
    const std::vector<float> base = sequence<float>(normal_block, 0, 64, 1, 1);
    CHECK(base != sequence<float>(normal_block, 0, 64, 2, 1));
    CHECK(base != sequence<float>(normal_block, 0, 64, 1, 2));
}

TEST_CASE("radius and direction have the accuracy that the header states", "[normal]") {
    double radius = 0, direction = 0, radius_double = 0, direction_double = 0;
    for (uint64_t i = 0; i < 400000; ++i) {
        const auto word = static_cast<uint32_t>(i * 10007u);
        const auto low = static_cast<uint32_t>(i * 2654435761u);
        const double u = (static_cast<double>(word >> 8) + 1) * 0x1p-24;
        radius = std::max(
            radius, std::fabs(static_cast<double>(std::sqrt(radius_squared(word))) - std::sqrt(-2 * std::log(u))));
        const double angle = static_cast<double>(word) * 0x1p-32 * 2 * M_PI;
        direction = std::max({direction, std::fabs(static_cast<double>(turn(word).cos) - std::cos(angle)),
                              std::fabs(static_cast<double>(turn(word).sin) - std::sin(angle))});
        const uint64_t both = (uint64_t{word} << 32) | low;
        const double fine = (static_cast<double>(both >> 11) + 1) * 0x1p-53;
        radius_double = std::max(radius_double, std::fabs(radius_squared(word, low) - (-2 * std::log(fine))));
        const long double wide_angle = static_cast<long double>(both) * 0x1p-64L * 2 * 3.14159265358979323846264L;
        direction_double =
            std::max({direction_double, static_cast<double>(std::fabs(turn(word, low).cos - std::cos(wide_angle))),
                      static_cast<double>(std::fabs(turn(word, low).sin - std::sin(wide_angle)))});
    }
    CHECK(radius < 6e-7);
    CHECK(direction < 2e-7);
    CHECK(radius_double < 2e-14);
    CHECK(direction_double < 1e-15);
}

TEST_CASE("the extreme words give the extreme numbers", "[normal]") {
    CHECK(std::sqrt(radius_squared(0u)) == Approx(std::sqrt(48 * std::log(2.0))).epsilon(1e-6));
    CHECK(radius_squared(0xffffffffu) == 0.0f);
    CHECK(std::sqrt(radius_squared(0u, 0u)) == Approx(std::sqrt(106 * std::log(2.0))).epsilon(1e-12));
    CHECK(radius_squared(0xffffffffu, 0xffffffffu) == 0.0);
    CHECK(turn(0).cos == 1.0f);
    CHECK(turn(0).sin == 0.0f);
    CHECK(turn(0x40000000u).sin == 1.0f);
    CHECK(turn(0x80000000u).cos == -1.0f);
    CHECK(turn(0xc0000000u, 0).sin == -1.0);
    CHECK(unit_interval(0xffffffffu) < 1.0f);
    CHECK(unit_interval(0xffffffffu, 0xffffffffu) < 1.0);
    CHECK(unit_interval(0xffu) == 0.0f);
}

TEST_CASE("float normals are standard normal, tails included", "[normal]") {
    const std::vector<float> numbers = sequence<float>(normal_block, 0, 2000000);
    check_normal(numbers);
    CHECK(std::fabs(*std::ranges::max_element(numbers)) < 5.77f);
}

TEST_CASE("double normals are standard normal, tails included", "[normal]") {
    check_normal(sequence<double>(normal_block, 0, 2000000));
}

TEST_CASE("uniform numbers are uniform from 0 up to 1", "[normal]") {
    const auto cdf = [](double x) { return x; };
    const std::vector<float> floats = sequence<float>(uniform_block, 0, 1000000);
    const std::vector<double> doubles = sequence<double>(uniform_block, 0, 1000000);
    CHECK(kolmogorov(floats, cdf) < 1.95);
    CHECK(kolmogorov(doubles, cdf) < 1.95);
    CHECK(std::ranges::all_of(floats, [](float x) { return x >= 0 && x < 1; }));
    CHECK(std::ranges::all_of(doubles, [](double x) { return x >= 0 && x < 1; }));
}

TEST_CASE("the logarithm is within an ulp also outside of 0 to 1", "[normal]") {
    for (const double x : {1e-300, 0.1, 0.70710678, 1.0, 1.4142136, 2.0, 10.0, 12345.678, 1e300}) {
        CHECK(std::fabs(log_positive(x) - std::log(x)) <= 3e-16 * std::fabs(std::log(x)));
    }
}
