#include "check/distribution.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "check/testing.hpp"

using namespace diopi;
using namespace diopi::testing;
using Catch::Matchers::Contains;

namespace {

template <class Draw>
Tensor draw(Dtype dtype, int64_t n, Draw&& next, unsigned seed = 11) {
    std::mt19937_64 bits(seed);
    std::vector<double> values(static_cast<size_t>(n));
    for (double& x : values) x = static_cast<double>(next(bits));
    return rounded_to(dtype, {n}, values);
}

Tensor uniform(Dtype dtype, int64_t n, double a, double b, unsigned seed = 11) {
    return draw(dtype, n, std::uniform_real_distribution<double>(a, b), seed);
}

Tensor normal(Dtype dtype, int64_t n, double mean, double std, unsigned seed = 11) {
    return draw(dtype, n, std::normal_distribution<double>(mean, std), seed);
}

bool follows(const Tensor& actual, Law law, double a, double b = 0) {
    const DistributionCheck check = check_distribution(actual, {law, a, b});
    UNSCOPED_INFO(name(actual.dtype) << " n " << check.n << " p " << check.p_value << ": " << check.reason);
    return check.passed;
}

}  // namespace

TEST_CASE("the Kolmogorov p-value agrees with printed tables") {
    CHECK(kolmogorov_p_value(0, 100) == 1);
    CHECK(kolmogorov_p_value(1.3581 / 1000, 1'000'000) == Approx(0.05).margin(1e-3));
    CHECK(kolmogorov_p_value(1.6276 / 1000, 1'000'000) == Approx(0.01).margin(1e-3));
    CHECK(kolmogorov_p_value(0.294, 20) == Approx(0.05).margin(5e-3));
}

TEST_CASE("correct samples follow their law in every dtype and size") {
    for (const Dtype dtype : kFloats) {
        for (const int64_t n : {1, 19, 20, 1000, 300'000}) {
            CHECK(follows(uniform(dtype, n, 0, 1), Law::kUniform, 0, 1));
            CHECK(follows(uniform(dtype, n, -3, 10), Law::kUniform, -3, 10));
            CHECK(follows(normal(dtype, n, 0, 1), Law::kNormal, 0, 1));
            CHECK(follows(normal(dtype, n, 5, 0.25), Law::kNormal, 5, 0.25));
        }
    }
}

TEST_CASE("a half sample on the coarse grid of its own generator follows the law") {
    const auto eight_bits = [](std::mt19937_64& bits) { return static_cast<double>(bits() & 255) / 256; };
    CHECK(follows(draw(Dtype::bfloat16, 300'000, eight_bits), Law::kUniform, 0, 1));
    CHECK(follows(uniform(Dtype::bfloat16, 5000, 1, 1.001), Law::kUniform, 1, 1.001));
}

TEST_CASE("a sample of another law is refused") {
    for (const Dtype dtype : kFloats) {
        CHECK_FALSE(follows(uniform(dtype, 10'000, 0, 0.95), Law::kUniform, 0, 1));
        CHECK_FALSE(follows(normal(dtype, 10'000, 0.06, 1), Law::kNormal, 0, 1));
        CHECK_FALSE(follows(normal(dtype, 10'000, 0, 1.1), Law::kNormal, 0, 1));
        CHECK_FALSE(follows(uniform(dtype, 10'000, -std::sqrt(3.0), std::sqrt(3.0)), Law::kNormal, 0, 1));
        CHECK_FALSE(follows(draw(dtype, 10'000, [](auto&) { return 0.5; }), Law::kUniform, 0, 1));
    }
}

TEST_CASE("a sample that repeats itself is refused for every law and dtype") {
    const auto is_repeated = [](const Tensor& actual, Law law, double a, double b) {
        CHECK(follows(actual, law, a, b));
        const size_t half = actual.nbytes() / 2;
        std::memcpy(actual.data_as<char>() + half, actual.data(), half);
        return check_distribution(actual, {law, a, b}).reason.find("come a second time") != std::string::npos;
    };
    for (const Dtype dtype : kFloats) {
        for (const int64_t n : {100, 10'000, 300'000}) {
            INFO(name(dtype) << " of " << n);
            CHECK(is_repeated(normal(dtype, n, 3, 0.5), Law::kNormal, 3, 0.5));
            CHECK(is_repeated(normal(dtype, n, 0, 1), Law::kNormal, 0, 1));
            CHECK(is_repeated(uniform(dtype, n, -1, 2), Law::kUniform, -1, 2));
            auto digits = std::uniform_int_distribution<int64_t>(0, 9);
            CHECK(is_repeated(draw(dtype, n, digits), Law::kIntegerUniform, 0, 10));
        }
    }
    auto wide = std::uniform_int_distribution<int64_t>(-5, 9999);
    CHECK(is_repeated(draw(Dtype::float16, 5000, wide), Law::kIntegerUniform, -5, 10'000));
    CHECK(is_repeated(draw(Dtype::float32, 40, wide), Law::kIntegerUniform, -5, 10'000));
    const Tensor constant = draw(Dtype::float32, 5000, [](auto&) { return 1; });
    CHECK(follows(constant, Law::kIntegerUniform, 1, 2));
}

TEST_CASE("values out of range and non-finite values are refused, however few") {
    const Tensor actual = uniform(Dtype::float32, 10, 0, 1);
    store(actual, 3, 1.01);
    CHECK_THAT(check_distribution(actual, {Law::kUniform, 0, 1}).reason, Contains("1.01 at element 3 outside [0, 1]"));
    const Tensor broken = normal(Dtype::float32, 10, 0, 1);
    store(broken, 9, std::numeric_limits<double>::quiet_NaN());
    CHECK_THAT(check_distribution(broken, {Law::kNormal, 0, 1}).reason, Contains("NaN at element 9"));
}

TEST_CASE("empty and constant laws") {
    CHECK(follows(make_host_tensor({0}, Dtype::float32), Law::kNormal, 0, 1));
    const auto constant = [](auto&) { return 0.1; };
    for (const Dtype dtype : kFloats) {
        CHECK(follows(draw(dtype, 100, constant), Law::kNormal, 0.1, 0));
        CHECK(follows(draw(dtype, 100, constant), Law::kUniform, 0.1, 0.1));
        CHECK_FALSE(follows(normal(dtype, 100, 0.1, 1), Law::kNormal, 0.1, 0));
    }
    CHECK_FALSE(follows(normal(Dtype::float32, 100, 0, 1), Law::kNormal, 0, -1));
}

TEST_CASE("uniform numbers of float64 have more random bits than those of float32") {
    const auto with_bits = [](Dtype dtype, int bits) {
        return draw(dtype, 65'537,
                    [bits](auto& random) { return std::ldexp(static_cast<double>(random() >> (64 - bits)), -bits); });
    };
    CHECK(follows(with_bits(Dtype::float64, 53), Law::kUniform, 0, 1));
    CHECK(follows(with_bits(Dtype::float64, 32), Law::kUniform, 0, 1));
    CHECK(follows(with_bits(Dtype::float32, 24), Law::kUniform, 0, 1));
    const DistributionCheck check = check_distribution(with_bits(Dtype::float64, 24), {Law::kUniform, 0, 1});
    CHECK_FALSE(check.passed);
    CHECK_THAT(check.reason, Contains("fewer than 32 random bits"));
}

TEST_CASE("integers are uniform, and each of them occurs") {
    std::mt19937_64 bits(5);
    std::vector<int64_t> good(20'000);
    for (int64_t& x : good) x = static_cast<int64_t>(bits() % 10) - 2;
    CHECK(follows(tensor_of({20'000}, Dtype::int64, good), Law::kIntegerUniform, -2, 8));
    CHECK_FALSE(follows(tensor_of({20'000}, Dtype::int64, good), Law::kIntegerUniform, -2, 7));
    std::vector<int64_t> without = good;
    for (int64_t& x : without) x = x == 7 ? 6 : x;
    const DistributionCheck check =
        check_distribution(tensor_of({20'000}, Dtype::int64, without), {Law::kIntegerUniform, -2, 8});
    CHECK_FALSE(check.passed);
    CHECK_FALSE(follows(uniform(Dtype::float32, 100, 0, 9), Law::kIntegerUniform, 0, 10));
    auto wide = std::uniform_int_distribution<int64_t>(0, 9999);
    CHECK(follows(draw(Dtype::float16, 50'000, wide), Law::kIntegerUniform, 0, 10'000));
    CHECK(follows(draw(Dtype::float32, 50'000, wide), Law::kIntegerUniform, 0, 10'000));
}

TEST_CASE("Bernoulli shares") {
    for (const double p : {0.0, 0.001, 0.3, 1.0}) {
        CHECK(follows(draw(Dtype::float32, 10'000, std::bernoulli_distribution(p)), Law::kBernoulli, p));
        CHECK_FALSE(follows(draw(Dtype::float32, 10'000, std::bernoulli_distribution(p)), Law::kBernoulli, 0.5));
    }
    CHECK_FALSE(follows(draw(Dtype::float32, 10'000, std::bernoulli_distribution(0.01)), Law::kBernoulli, 0));
    CHECK_FALSE(follows(uniform(Dtype::float32, 10, 0, 1), Law::kBernoulli, 0.5));
}

TEST_CASE("repeated zeros and ones are refused, in the whole sample or in parts") {
    for (const double p : {0.5, 0.1, 0.9}) {
        for (const int64_t n : {3000, 200'000}) {
            Tensor actual = draw(Dtype::float32, n, std::bernoulli_distribution(p));
            CHECK(follows(actual, Law::kBernoulli, p));
            auto* values = actual.data_as<float>();
            std::copy_n(values, n / 2, values + n / 2);
            CHECK_THAT(check_distribution(actual, {Law::kBernoulli, p, 0}).reason, Contains("come a second time"));
        }
    }
    const Tensor constant = draw(Dtype::float32, 5000, [](auto&) { return 1; });
    CHECK(follows(constant, Law::kBernoulli, 1));
}

TEST_CASE("draws with their own probability follow it, at likely and unlikely elements") {
    const int64_t n = 10'000;
    for (const Dtype dtype : kFloats) {
        const Tensor share = rounded_to(dtype, {n}, [&] {
            std::vector<double> p(static_cast<size_t>(n));
            for (size_t i = 0; i < p.size(); ++i) p[i] = static_cast<double>(i % 9) / 8;
            return p;
        }());
        const auto drawn = [&](double scale, double middle) {
            std::mt19937_64 bits(5);
            std::vector<double> flags(static_cast<size_t>(n));
            for (size_t i = 0; i < flags.size(); ++i) {
                const double p = static_cast<double>(i % 9) / 8;
                flags[i] = std::bernoulli_distribution(std::clamp(middle + (p - middle) * scale, 0.0, 1.0))(bits);
            }
            return rounded_to(Dtype::float32, {n}, flags);
        };
        CHECK(check_bernoulli(drawn(1, 0.5), share).passed);
        // The number of ones is right, but at wrong elements: certain values are found first.
        CHECK_THAT(check_bernoulli(drawn(0.5, 0.5), share).reason, Contains("where 1 has probability"));
        const Tensor even = rounded_to(dtype, {n}, std::vector<double>(static_cast<size_t>(n), 0.25));
        CHECK_FALSE(check_bernoulli(drawn(1, 0.5), even).passed);
        const Tensor flags = drawn(1, 0.5);
        store(flags, 7, 2);
        CHECK_FALSE(check_bernoulli(flags, share).passed);
    }
    const Tensor skewed = rounded_to(Dtype::float32, {n}, [&] {
        std::vector<double> p(static_cast<size_t>(n), 0.25);
        std::fill(p.begin() + n / 2, p.end(), 0.75);
        return p;
    }());
    CHECK_THAT(check_bernoulli(draw(Dtype::float32, n, std::bernoulli_distribution(0.5)), skewed).reason,
               Contains("among elements of probability below 0.5"));
    CHECK(check_bernoulli(make_host_tensor({0}, Dtype::float32), make_host_tensor({0}, Dtype::float32)).passed);
}

TEST_CASE("permutations hold each number once, and not in order") {
    std::vector<int64_t> order(100);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    CHECK_FALSE(follows(tensor_of({100}, Dtype::int64, order), Law::kPermutation, 0));
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    CHECK(follows(tensor_of({100}, Dtype::int64, order), Law::kPermutation, 0));
    order[7] = order[8];
    CHECK_FALSE(follows(tensor_of({100}, Dtype::int64, order), Law::kPermutation, 0));
}

TEST_CASE("permutations of a wrong shuffle are refused") {
    constexpr int64_t kCount = 20'000;
    std::mt19937 bits(3);
    std::vector<int64_t> order(kCount);
    const auto drawn = [&] { return follows(tensor_of({kCount}, Dtype::int64, order), Law::kPermutation, 0); };
    // Exchanges each number with one of those before it, and never with itself.
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[bits() % i]);
    CHECK_FALSE(drawn());
    // Mixes blocks of a thousand.
    std::iota(order.begin(), order.end(), 0);
    for (auto at = order.begin(); at != order.end(); at += 1000) std::shuffle(at, at + 1000, bits);
    CHECK_FALSE(drawn());
    // Mixes pairs of neighbours.
    std::vector<int64_t> pairs(kCount / 2);
    std::iota(pairs.begin(), pairs.end(), 0);
    std::shuffle(pairs.begin(), pairs.end(), bits);
    for (size_t i = 0; i < order.size(); ++i) order[i] = 2 * pairs[i / 2] + static_cast<int64_t>(i % 2);
    CHECK_FALSE(drawn());
    for (int i = 0; i < 50; ++i) {
        std::shuffle(order.begin(), order.end(), bits);
        CHECK(drawn());
    }
}

TEST_CASE("normal numbers with a mean and a deviation for each element", "[check]") {
    const int64_t n = 5000;
    std::vector<double> means, deviations, values;
    std::mt19937_64 bits(5);
    for (int64_t i = 0; i < n; ++i) {
        means.push_back(static_cast<double>(i % 7) * 10);
        deviations.push_back(0.5 + static_cast<double>(i % 3));
        values.push_back(means.back() + deviations.back() * std::normal_distribution<double>()(bits));
    }
    const Tensor mean = rounded_to(Dtype::float32, {n}, means), deviation = rounded_to(Dtype::float32, {n}, deviations);
    const Tensor drawn = rounded_to(Dtype::float32, {n}, values), one = rounded_to(Dtype::float32, {}, {1});
    CHECK(check_normal(drawn, mean, deviation).passed);
    CHECK_FALSE(check_normal(drawn, mean, one).passed);
    CHECK_FALSE(check_normal(drawn, one, deviation).passed);
    CHECK_FALSE(check_normal(mean, mean, deviation).passed);
    // 16 steps of float32 in a standard deviation.
    std::vector<double> narrow;
    for (int64_t i = 0; i < 4 * n; ++i) narrow.push_back(1000 + 1e-3 * std::normal_distribution<double>()(bits));
    const Tensor far = rounded_to(Dtype::float32, {}, {1000}), small = rounded_to(Dtype::float32, {}, {1e-3});
    CHECK(check_normal(rounded_to(Dtype::float32, {4 * n}, narrow), far, small).passed);
}

TEST_CASE("a dropout scales what its mask keeps", "[check]") {
    const int64_t n = 1000;
    std::vector<double> x, flags, y;
    std::mt19937_64 bits(6);
    for (int64_t i = 0; i < n; ++i) {
        x.push_back(1 + static_cast<double>(i % 9));
        flags.push_back(std::bernoulli_distribution(0.75)(bits) ? 1 : 0);
        y.push_back(x.back() * flags.back() / 0.75);
    }
    const Tensor input = rounded_to(Dtype::float32, {n}, x),
                 mask = tensor_of({n}, Dtype::uint8, std::vector<uint8_t>(flags.begin(), flags.end()));
    const Tensor out = rounded_to(Dtype::float32, {n}, y);
    CHECK(check_dropout({out, input, &mask, 0.25}).passed);
    CHECK(check_dropout({input, input, nullptr, 0.25}).passed);
    CHECK_FALSE(check_dropout({out, input, &mask, 0.5}).passed);
    CHECK_FALSE(check_dropout({input, input, &mask, 0.25}).passed);
    CHECK_FALSE(check_dropout({out, input, nullptr, 0.25}).passed);
}

TEST_CASE("numbers of categories follow the weights, and come once without replacement", "[check]") {
    const std::vector<double> weights = {1, 0, 3, 4};
    std::mt19937_64 bits(7);
    std::discrete_distribution<int64_t> law(weights.begin(), weights.end());
    std::vector<int64_t> drawn, even;
    for (int64_t i = 0; i < 1000; ++i) {
        drawn.push_back(law(bits));
        even.push_back(std::vector<int64_t>{0, 2, 3}[static_cast<size_t>(i % 3)]);
    }
    const Tensor share = rounded_to(Dtype::float32, {4}, weights);
    CHECK(check_categorical(tensor_of({1000}, Dtype::int64, drawn), share, true).passed);
    CHECK_FALSE(check_categorical(tensor_of({1000}, Dtype::int64, even), share, true).passed);
    const auto rows = [&](std::vector<int64_t> numbers, std::vector<double> second_weights, bool replacement) {
        std::vector<double> both = weights;
        both.insert(both.end(), second_weights.begin(), second_weights.end());
        const int64_t samples = std::ssize(numbers);
        numbers.insert(numbers.end(), numbers.begin(), numbers.end());
        return check_categorical(tensor_of({2, samples}, Dtype::int64, numbers),
                                 rounded_to(Dtype::float32, {2, 4}, both), replacement);
    };
    const std::vector<int64_t> few(drawn.begin(), drawn.begin() + 40);
    CHECK(rows(few, {1, 0, 3, 4.5}, true).passed);
    CHECK_THAT(rows(few, weights, true).reason, Catch::Contains("rows 0 and 1 have the same weights"));
    CHECK(rows({3, 0, 2}, weights, false).passed);  // as likely as one of twenty
    const auto once = [&](const std::vector<int64_t>& numbers) {
        return check_categorical(tensor_of({3}, Dtype::int64, numbers), share, false).passed;
    };
    CHECK(once({3, 0, 2}));
    CHECK_FALSE(once({3, 0, 3}));
    CHECK_FALSE(once({3, 1, 2}));
}
