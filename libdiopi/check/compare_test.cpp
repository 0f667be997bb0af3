#include "check/compare.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "check/judge.hpp"
#include "check/legacy.hpp"
#include "check/testing.hpp"

using namespace diopi;
using namespace diopi::testing;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

Bound bound_of(Accuracy accuracy, double max_ulp = 0.5) {
    Bound bound;
    bound.accuracy = accuracy;
    bound.max_ulp = max_ulp;
    return bound;
}

Bound tolerance_of(double atol, double rtol) {
    Bound bound;
    bound.tolerance.instead = Tolerance::Instead::kTolerance;
    bound.tolerance.atol = atol;
    bound.tolerance.rtol = rtol;
    return bound;
}

/// Compares with a specification that the actual tensor meets.
Comparison check(const Tensor& actual, const Tensor& oracle, const Bound& bound, const Tensor* sums = nullptr) {
    return compare(actual, oracle, {actual.shape, actual.dtype}, bound, sums);
}

constexpr Accuracy kElementwise[] = {Accuracy::A, Accuracy::B, Accuracy::C, Accuracy::D, Accuracy::E};

struct Dot {
    double exact = 0, magnitude = 0, in_float32 = 0, in_float16 = 0;
};

/// A dot product of float16 values that is accumulated in float64, float32 and float16.
Dot dot_product(int64_t k, unsigned seed) {
    const std::vector<double> x = reals(2 * k, seed);
    Dot dot;
    for (int64_t i = 0; i < k; ++i) {
        const double a = to_float(to_half(x[static_cast<size_t>(2 * i)]));
        const double b = to_float(to_half(x[static_cast<size_t>(2 * i + 1)]));
        dot.exact += a * b;
        dot.magnitude += std::fabs(a * b);
        dot.in_float32 = static_cast<float>(dot.in_float32 + static_cast<float>(a * b));
        dot.in_float16 = to_float(to_half(dot.in_float16 + a * b));
    }
    return dot;
}

}  // namespace

TEST_CASE("every class passes the correctly rounded oracle in every dtype", "[vectors]") {
    const std::vector<double> values = reals(5003);
    for (const Dtype dtype : kFloats) {
        for (const Accuracy accuracy : kElementwise) {
            const Comparison result =
                check(rounded_to(dtype, {5003}, values), oracle_of({5003}, values), bound_of(accuracy));
            INFO(name(dtype) << " class " << static_cast<char>(accuracy) << ": " << result.reason);
            CHECK(result.passed);
            CHECK(result.warning.empty());
            CHECK(result.deviation.max_ulp <= 0.5);
            CHECK(result.deviation.budget_used <= 1);
            CHECK(result.deviation.cosine > 0.9999);
        }
    }
}

TEST_CASE("a stale last element fails every class, at every length") {
    for (const int64_t n : {1, 3, 4, 7, 1023, 1024, 1025, 4096}) {
        const std::vector<double> values = reals(n);
        for (const Dtype dtype : kFloats) {
            for (const Accuracy accuracy : kElementwise) {
                const Tensor actual = rounded_to(dtype, {n}, values);
                store(actual, n - 1, values.back() + 0.5);
                const Comparison result = check(actual, oracle_of({n}, values), bound_of(accuracy));
                INFO(name(dtype) << " class " << static_cast<char>(accuracy) << " n " << n);
                CHECK_FALSE(result.passed);
                CHECK(result.deviation.mismatches == 1);
                CHECK(result.deviation.where == (n == 1 ? "the only element" : "last element"));
                CHECK(result.deviation.worst_index == Shape{n - 1});
            }
        }
    }
}

TEST_CASE("a comparison that stops at a mismatch has the same verdict, without an explanation") {
    for (const int64_t n : {1, 1024, 5003}) {
        const std::vector<double> values = reals(n);
        const Tensor oracle = oracle_of({n}, values), right = rounded_to(Dtype::float32, {n}, values);
        const TensorSpec spec{{n}, Dtype::float32, {}};
        const Bound bound = bound_of(Accuracy::B);
        const Comparison passed = compare(right, oracle, spec, bound, nullptr, OnMismatch::kStop);
        CHECK(passed.passed);
        CHECK(passed.deviation.max_ulp == check(right, oracle, bound).deviation.max_ulp);
        for (const int64_t place : {int64_t{0}, n - 1}) {
            const Tensor wrong = rounded_to(Dtype::float32, {n}, values);
            store(wrong, place, values[static_cast<size_t>(place)] + 0.5);
            const Comparison stopped = compare(wrong, oracle, spec, bound, nullptr, OnMismatch::kStop);
            CHECK_FALSE(stopped.passed);
            CHECK(stopped.reason.empty());
        }
    }
}

TEST_CASE("class B refuses one ulp") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
        const std::vector<double> values = reals(3000);
        for (const int64_t at : {0, 1500, 2999}) {
            const Tensor actual = rounded_to(dtype, {3000}, values);
            bump(actual, at);
            const Comparison result = check(actual, oracle_of({3000}, values), bound_of(Accuracy::B));
            INFO(name(dtype) << " " << at);
            CHECK_FALSE(result.passed);
            CHECK(result.deviation.mismatches == 1);
            CHECK(result.deviation.max_ulp > 0.5);
            CHECK(result.deviation.max_ulp <= 1.5);
        }
    }
}

TEST_CASE("class B at a power of two refuses the lower neighbour, which is half an ulp of the upper binade away") {
    const Tensor actual = tensor_of<float>({1}, Dtype::float32, {std::nextafter(1.0f, 0.0f)});
    const Comparison result = check(actual, oracle_of({1}, {1.0}), bound_of(Accuracy::B));
    CHECK_FALSE(result.passed);
    CHECK(result.deviation.max_ulp == 1);
    CHECK(check(actual, oracle_of({1}, {1.0}), bound_of(Accuracy::B, 1)).passed);
}

TEST_CASE("class B accepts both neighbours of a tie, class A only the even one") {
    const double tie = 1 + 0x1p-24;
    const Tensor even = tensor_of<float>({1}, Dtype::float32, {1.0f});
    const Tensor odd = tensor_of<float>({1}, Dtype::float32, {1 + 0x1p-23f});
    CHECK(check(even, oracle_of({1}, {tie}), bound_of(Accuracy::B)).passed);
    CHECK(check(odd, oracle_of({1}, {tie}), bound_of(Accuracy::B)).passed);
    CHECK(check(even, oracle_of({1}, {tie}), bound_of(Accuracy::A)).passed);
    CHECK_FALSE(check(odd, oracle_of({1}, {tie}), bound_of(Accuracy::A)).passed);
    CHECK_FALSE(check(even, oracle_of({1}, {std::nextafter(tie, 2)}), bound_of(Accuracy::B)).passed);
}

TEST_CASE("class B accepts a fraction of an ulp more if the bound has one, and at most one ulp of a half type") {
    const double ulp = 0x1p-10;
    const auto passes = [&](double off, double max_ulp) {
        Bound bound = bound_of(Accuracy::B);
        bound.max_ulp = max_ulp;
        const Tensor actual = rounded_to(Dtype::float16, {1}, {1 + 8 * ulp});
        return check(actual, oracle_of({1}, {1 + (8 + off) * ulp}), bound).passed;
    };
    CHECK_FALSE(passes(0.50004, 0.5));
    CHECK(passes(0.50004, 0.5 + 0x1p-14));
    CHECK_FALSE(passes(0.5001, 0.5 + 0x1p-14));
    CHECK(passes(0.99, 2.5));
    CHECK_FALSE(passes(1.01, 2.5));
}

TEST_CASE("class B rounds denormals to their own grid") {
    const double least = 0x1p-149;
    const Tensor actual = tensor_of<float>({3}, Dtype::float32, {0.0f, 0x1p-149f, 0x1.8p-148f});
    CHECK(check(actual, oracle_of({3}, {0.4 * least, 0.6 * least, 3.2 * least}), bound_of(Accuracy::B)).passed);
    CHECK_FALSE(check(actual, oracle_of({3}, {0.6 * least, 0.6 * least, 3.2 * least}), bound_of(Accuracy::B)).passed);
    const Tensor half = tensor_of<uint16_t>({1}, Dtype::float16, {1});
    CHECK(check(half, oracle_of({1}, {0x1p-24}), bound_of(Accuracy::B)).passed);
    CHECK_FALSE(check(half, oracle_of({1}, {0x1p-26}), bound_of(Accuracy::B)).passed);
}

TEST_CASE("float64 class B requires equal bits, class C the declared ulp and one of the oracle") {
    const double next = std::nextafter(1.5, 2);
    const Tensor actual = oracle_of({2}, {0.0, next});
    const Tensor oracle = oracle_of({2}, {0.0, 1.5});
    CHECK_FALSE(check(actual, oracle, bound_of(Accuracy::B)).passed);
    CHECK(check(actual, oracle, bound_of(Accuracy::B, 1)).passed);
    CHECK(check(actual, oracle, bound_of(Accuracy::C, 0)).passed);
    const Tensor tiny = oracle_of({1}, {0x1p-1074});
    CHECK_FALSE(check(tiny, oracle_of({1}, {0.0}), bound_of(Accuracy::B)).passed);
    CHECK_FALSE(check(tiny, oracle_of({1}, {0.0}), bound_of(Accuracy::A)).passed);
}

TEST_CASE("a bound in ulp that replaces the class is also valid for half dtypes") {
    Bound bound = bound_of(Accuracy::C, 16);
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
        const std::vector<double> values = reals(100);
        const Tensor actual = rounded_to(dtype, {100}, values);
        for (int k = 0; k < 3; ++k) bump(actual, 50);
        bound.tolerance.instead = Tolerance::Instead::kUlp;
        bound.tolerance.max_ulp = 4;
        CHECK(check(actual, oracle_of({100}, values), bound).passed);
        bound.tolerance.max_ulp = 2;
        CHECK_FALSE(check(actual, oracle_of({100}, values), bound).passed);
    }
}

TEST_CASE("truncation instead of rounding is found in half dtypes") {
    const std::vector<double> values = reals(1000);
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        Tensor actual = rounded_to(dtype, {1000}, values);
        for (int64_t i = 0; i < 1000; ++i) {
            const double x = values[static_cast<size_t>(i)];
            if (std::fabs(real_of(actual, i)) > std::fabs(x)) --actual.data_as<uint16_t>()[i];
        }
        for (const Accuracy accuracy : {Accuracy::A, Accuracy::B}) {
            const Comparison result = check(actual, oracle_of({1000}, values), bound_of(accuracy));
            CHECK_FALSE(result.passed);
            CHECK(result.deviation.mismatches > 400);
            CHECK(result.deviation.p99_ulp > 0.9);
            CHECK(result.deviation.max_ulp < 1.0001);
        }
        CHECK(check(actual, oracle_of({1000}, values), bound_of(Accuracy::C)).passed);
    }
}

TEST_CASE("a wrong output has a picture of its mismatches and a histogram of all its errors") {
    std::vector<double> values = reals(24);
    const Tensor actual = rounded_to(Dtype::float32, {4, 6}, values);
    const Tensor oracle = oracle_of({4, 6}, values);
    CHECK(check(actual, oracle, bound_of(Accuracy::B)).deviation.picture.empty());
    CHECK(check(actual, oracle, bound_of(Accuracy::B)).deviation.ulp_counts.empty());
    store(actual, 9, 1e6);
    store(actual, 23, std::nan(""));
    const Deviation wrong = check(actual, oracle, bound_of(Accuracy::B)).deviation;
    CHECK(wrong.picture == std::vector<std::string>{"......", "...#..", "......", ".....#"});
    CHECK(wrong.ulp_counts == std::vector<int64_t>{22, 0, 0, 0, 0, 0, 0, 0, 1, 1});
}

TEST_CASE("one wrong element among a million fails, although the legacy check passes it") {
    const int64_t n = 1'000'000;
    std::vector<double> values = reals(n);
    const Tensor actual = rounded_to(Dtype::float32, {1000, 1000}, values);
    const Tensor oracle = oracle_of({1000, 1000}, values);
    REQUIRE(check(actual, oracle, bound_of(Accuracy::E)).passed);
    store(actual, 567'891, 1000);
    for (const Accuracy accuracy : kElementwise) {
        const Comparison result = check(actual, oracle, bound_of(accuracy));
        CHECK_FALSE(result.passed);
        CHECK(result.deviation.worst_index == Shape{567, 891});
        CHECK(result.deviation.worst_actual == 1000);
        CHECK_THAT(result.reason, StartsWith("1 of 1000000 elements differ: max "));
        CHECK_THAT(result.reason, Contains("at (567, 891): got 1000, expected "));
    }
    const Comparison legacy = compare_legacy(actual, oracle, {});
    CHECK(legacy.passed);
    CHECK(legacy.deviation.mismatches == 1);
}

TEST_CASE("shape and dtype must be exactly the expected ones") {
    const Tensor oracle = oracle_of({3, 1}, {1, 2, 3});
    const Tensor row = rounded_to(Dtype::float32, {1, 3}, {1, 2, 3});
    const TensorSpec spec{{3, 1}, Dtype::float32};
    for (const Accuracy accuracy : {Accuracy::A, Accuracy::E, Accuracy::F}) {
        const Comparison result = compare(row, oracle, spec, bound_of(accuracy), nullptr);
        CHECK_FALSE(result.passed);
        CHECK_THAT(result.reason, Equals("shape (1, 3) where (3, 1) is wanted"));
    }
    CHECK(compare_legacy(row, oracle, {}).passed);
    const Tensor column = rounded_to(Dtype::float32, {3, 1}, {1, 2, 3});
    CHECK(compare(column, oracle, spec, bound_of(Accuracy::A), nullptr).passed);
    const Comparison result = compare(column, oracle, {{3, 1}, Dtype::float16}, bound_of(Accuracy::A), nullptr);
    CHECK_THAT(result.reason, Equals("dtype float32 where float16 is wanted"));
    const Tensor empty = rounded_to(Dtype::float32, {0, 3}, {});
    CHECK(compare(empty, oracle_of({0, 3}, {}), {{0, 3}, Dtype::float32}, bound_of(Accuracy::A), nullptr).passed);
    CHECK_FALSE(compare(empty, oracle_of({0, 4}, {}), {{0, 4}, Dtype::float32}, bound_of(Accuracy::A), nullptr).passed);
}

TEST_CASE("NaN and infinity must be where the oracle has them") {
    const std::vector<double> values = {1.25, kNan, kInf, -kInf, -0.0, 7};
    const Tensor oracle = oracle_of({2, 3}, values);
    for (const Dtype dtype : kFloats) {
        for (const Accuracy accuracy : kElementwise) {
            Bound loose = bound_of(accuracy, 1e9);
            loose.tolerance = {1e30, 1e30, 1, true};
            CHECK(check(rounded_to(dtype, {2, 3}, values), oracle, loose).passed);
            const Tensor swallowed = rounded_to(dtype, {2, 3}, {1.25, 0, kInf, -kInf, 0, 7});
            CHECK_THAT(check(swallowed, oracle, loose).reason,
                       Equals("0 at (0, 1) where NaN is expected; one element"));
            const Tensor sign = rounded_to(dtype, {2, 3}, {1.25, kNan, -kInf, -kInf, 0, 7});
            CHECK_THAT(check(sign, oracle, loose).reason, StartsWith("-inf at (0, 2) where inf is expected"));
            const Tensor lost = rounded_to(dtype, {2, 3}, {1.25, kNan, kInf, -1e4, 0, 7});
            CHECK_FALSE(check(lost, oracle, loose).passed);
            const Tensor planted = rounded_to(dtype, {2, 3}, {kNan, kNan, kInf, -kInf, 0, kNan});
            CHECK_THAT(check(planted, oracle, loose).reason,
                       StartsWith("NaN at (0, 0) where 1.25 is expected (2 such places)"));
        }
    }
}

TEST_CASE("a value that overflows the output dtype is infinite there") {
    const Tensor oracle = oracle_of({2}, {65520, -70000});
    CHECK(check(rounded_to(Dtype::float16, {2}, {kInf, -kInf}), oracle, bound_of(Accuracy::B)).passed);
    CHECK_FALSE(check(rounded_to(Dtype::float16, {2}, {65504, -kInf}), oracle, tolerance_of(100, 1)).passed);
    CHECK(check(rounded_to(Dtype::float16, {1}, {65504}), oracle_of({1}, {65519}), bound_of(Accuracy::B)).passed);
    const Tensor huge = oracle_of({1}, {1e39});
    CHECK(check(rounded_to(Dtype::float32, {1}, {kInf}), huge, bound_of(Accuracy::A)).passed);
    CHECK_FALSE(check(tensor_of<float>({1}, Dtype::float32, {3e38f}), huge, tolerance_of(1e39, 1)).passed);
}

TEST_CASE("integers and bools are compared bit by bit in every class") {
    const std::vector<int64_t> order = {5, 2, 9, int64_t{1} << 60, -3, 0};
    std::vector<int64_t> swapped = order;
    std::swap(swapped[1], swapped[2]);
    const Tensor oracle = tensor_of({6}, Dtype::int64, order);
    for (const Accuracy accuracy : kElementwise) {
        CHECK(check(tensor_of({6}, Dtype::int64, order), oracle, bound_of(accuracy)).passed);
        const Comparison result = check(tensor_of({6}, Dtype::int64, swapped), oracle, bound_of(accuracy));
        CHECK_THAT(result.reason, StartsWith("2 of 6 elements differ: max difference 7 at (1,): got 9, expected 2"));
    }
    std::vector<int64_t> nearly = order;
    ++nearly[3];
    CHECK_FALSE(check(tensor_of({6}, Dtype::int64, nearly), oracle, tolerance_of(10, 10)).passed);
    const Tensor bytes = tensor_of<int8_t>({2}, Dtype::int8, {44, -1});
    CHECK(check(bytes, tensor_of<int64_t>({2}, Dtype::int64, {300, 255}), bound_of(Accuracy::A)).passed);
    const Tensor truth = tensor_of<uint8_t>({2}, Dtype::boolean, {1, 0});
    CHECK(check(truth, truth, bound_of(Accuracy::A)).passed);
    CHECK_FALSE(check(tensor_of<uint8_t>({2}, Dtype::boolean, {1, 205}), truth, bound_of(Accuracy::A)).passed);
}

TEST_CASE("class D passes float32 accumulation and finds float16 accumulation") {
    const int64_t n = 64;
    for (const int64_t k : {512, 4096}) {
        std::vector<double> exact, sums, good, bad;
        for (unsigned i = 0; i < n; ++i) {
            const Dot dot = dot_product(k, 100 + i);
            exact.push_back(dot.exact);
            sums.push_back(dot.magnitude);
            good.push_back(dot.in_float32);
            bad.push_back(dot.in_float16);
        }
        Bound bound = bound_of(Accuracy::D);
        bound.accumulation_length = k;
        const Tensor magnitude = oracle_of({n}, sums);
        for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
            const Comparison right = check(rounded_to(dtype, {n}, good), oracle_of({n}, exact), bound, &magnitude);
            INFO(k << " " << name(dtype) << " " << right.reason);
            CHECK(right.passed);
            CHECK(right.warning.empty());
            const Comparison wrong = check(rounded_to(dtype, {n}, bad), oracle_of({n}, exact), bound, &magnitude);
            CHECK((!wrong.passed || !wrong.warning.empty()));
            if (k == 512) CHECK_FALSE(wrong.passed);
        }
    }
}

TEST_CASE("class D warns between its bounds, and fails at the warn bound without a worst case") {
    Bound bound = bound_of(Accuracy::D);
    bound.accumulation_length = 1 << 16;
    const Tensor magnitude = oracle_of({2}, {100, 100});
    const Tensor oracle = oracle_of({2}, {1, 1});
    const double warn = 4 * 256 * 0x1p-24 * 100;
    const double limit = 2 * 65536 * 0x1p-24 * 100;
    const auto at = [&](double error) {
        return check(rounded_to(Dtype::float32, {2}, {1, 1 + error}), oracle, bound, &magnitude);
    };
    CHECK(at(0.9 * warn).warning.empty());
    CHECK(at(1.1 * warn).passed);
    CHECK_THAT(at(1.1 * warn).warning, StartsWith("class D: 1 of 2 values"));
    CHECK(at(0.99 * limit).passed);
    CHECK_FALSE(at(1.01 * limit).passed);
    bound.accumulator_roundoff = 0x1p-11;
    CHECK(at(0.9 * 0x1p13 * warn).passed);
    CHECK_FALSE(at(1.1 * 0x1p13 * warn).passed);
    bound.accumulator_roundoff = 0x1p-24;
    bound.extra_roundoff = 0x1p-10;
    CHECK(at(limit + 0.09).passed);
}

TEST_CASE("NaN may replace only an infinity whose sum of magnitudes is NaN") {
    const Bound bound = bound_of(Accuracy::D);
    const Tensor oracle = oracle_of({2}, {kInf, kInf});
    const Tensor unknown = oracle_of({2}, {kInf, kNan});
    const auto check_at = [&](const std::vector<double>& values) {
        return check(rounded_to(Dtype::float32, {2}, values), oracle, bound, &unknown).passed;
    };
    CHECK(check_at({kInf, kNan}));
    CHECK(check_at({kInf, kInf}));
    CHECK_FALSE(check_at({kNan, kInf}));
    CHECK_FALSE(check_at({kInf, -kInf}));
    CHECK_FALSE(check_at({kInf, 1}));
    CHECK_FALSE(check(rounded_to(Dtype::float32, {1}, {kNan}), oracle_of({1}, {1}), bound).passed);
}

TEST_CASE("class D for float64 uses the roundoff of float64") {
    Bound bound = bound_of(Accuracy::D);
    bound.accumulation_length = 100;
    const Tensor oracle = oracle_of({1}, {1});
    CHECK(check(oracle_of({1}, {1 + 1e-14}), oracle, bound).passed);
    CHECK_FALSE(check(oracle_of({1}, {1 + 1e-12}), oracle, bound).passed);
}

TEST_CASE("class E allows its tolerance at every element, and half an ulp more for half outputs") {
    const Tensor oracle = oracle_of({2}, {100, 0});
    CHECK(check(rounded_to(Dtype::float32, {2}, {100.1, 0.001}), oracle, tolerance_of(0.001001, 0.001)).passed);
    const Comparison result = check(rounded_to(Dtype::float32, {2}, {100.3, 0}), oracle, tolerance_of(0, 0.001));
    CHECK_FALSE(result.passed);
    CHECK(result.deviation.budget_used == Approx(3).epsilon(1e-4));
    CHECK_THAT(result.reason, StartsWith("1 of 2 elements differ: max 3 times the tolerance at (0,): got 100.3"));
    const Comparison none = check(rounded_to(Dtype::float32, {2}, {100.5, 2}), oracle, tolerance_of(0, 0));
    CHECK_THAT(none.reason,
               StartsWith("2 of 2 elements differ: difference 2 where the tolerance is 0, at (1,): got 2"));
    // The first element is worse than the second, and its tolerance is 0.
    const Comparison zero =
        check(rounded_to(Dtype::float32, {2}, {1, 101}), oracle_of({2}, {0, 50}), tolerance_of(0, 0.1));
    CHECK_THAT(zero.reason,
               StartsWith("2 of 2 elements differ: difference 1 where the tolerance is 0, at (0,): got 1"));
    CHECK(check(rounded_to(Dtype::float16, {1}, {100.04}), oracle_of({1}, {100.04}), tolerance_of(0, 1e-6)).passed);
}

TEST_CASE("class E adds the error bound to one ulp, in half types to one and a half") {
    Bound bound = bound_of(Accuracy::E);
    const auto share = [&](Dtype dtype, double ulps) {
        const double ulp = ulp_of(1.5, format_of(dtype));
        return judge(1.5 + ulps * ulp, 1.5, 0.25 * ulp, make_rule(bound, dtype)).share;
    };
    // Twice the roundoff of float32, its own at least, is 1.5 ulp of 1.5.
    CHECK(share(Dtype::float32, 3) <= 1);
    CHECK(share(Dtype::float32, 3.1) > 1);
    CHECK(share(Dtype::bfloat16, 2) <= 1);
    CHECK(share(Dtype::float16, 2) <= 1);
    CHECK(share(Dtype::float16, 2.1) > 1);
}

TEST_CASE("an output of zeros fails where the expected mean is near zero") {
    const std::vector<double> values = reals(4096);
    const Tensor zeros = rounded_to(Dtype::float32, {64, 64}, std::vector<double>(4096, 0.0));
    const Comparison result = check(zeros, oracle_of({64, 64}, values), tolerance_of(1e-2, 1e-2));
    CHECK_FALSE(result.passed);
    CHECK(result.deviation.cosine == 0);
    CHECK(result.deviation.mismatches > 4000);
    CHECK(result.deviation.where == "nearly everywhere");
}

TEST_CASE("the cosine is that of the finite elements") {
    std::vector<double> values = reals(3000);
    for (const size_t i : {7u, 1501u, 2999u}) values[i] = i == 7 ? kNan : -kInf;
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
        const Tensor actual = rounded_to(dtype, {3000}, values);
        for (int64_t i = 0; i < 3000; i += 4) store(actual, i, 0.0);
        std::vector<double> left, right;
        for (int64_t i = 0; i < 3000; ++i) {
            if (!std::isfinite(real_of(actual, i))) continue;
            left.push_back(real_of(actual, i));
            right.push_back(values[static_cast<size_t>(i)]);
        }
        const auto dot = [](const auto& a, const auto& b) {
            return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
        };
        // No element is beyond the tolerance: all blocks are swept.
        const Comparison result = check(actual, oracle_of({3000}, values), tolerance_of(100, 0));
        CHECK(result.passed);
        CHECK(result.deviation.cosine == Approx(dot(left, right) / std::sqrt(dot(left, left) * dot(right, right))));
    }
}

TEST_CASE("complex outputs are compared part by part") {
    using C = std::complex<double>;
    const Tensor oracle = tensor_of<C>({3}, Dtype::complex128, {{1, 2}, {3, -4}, {0.1, kNan}});
    const std::vector<std::complex<float>> right = {{1, 2}, {3, -4}, {0.1f, NAN}};
    for (const Accuracy accuracy : kElementwise) {
        CHECK(check(tensor_of({3}, Dtype::complex64, right), oracle, bound_of(accuracy)).passed);
        auto wrong = right;
        wrong[1] = {3, 4};
        const Comparison result = check(tensor_of({3}, Dtype::complex64, wrong), oracle, bound_of(accuracy));
        CHECK_FALSE(result.passed);
        CHECK(result.deviation.mismatches == 1);
        CHECK_THAT(result.reason, Contains("at (1,): got 3+4j, expected 3-4j"));
    }
}

TEST_CASE("complex numbers with a NaN are equal to others that are not finite") {
    using C = std::complex<double>;
    const Tensor oracle = tensor_of<C>({3}, Dtype::complex128, {{1, 2}, {kNan, kNan}, {0.1, kNan}});
    const auto passes = [&](std::complex<float> second, std::complex<float> third) {
        const std::vector<std::complex<float>> values = {{1, 2}, second, third};
        return check(tensor_of({3}, Dtype::complex64, values), oracle, bound_of(Accuracy::B)).passed;
    };
    CHECK(passes({NAN, 5}, {7, NAN}));
    CHECK(passes({5, NAN}, {NAN, 7}));
    CHECK(passes({5, INFINITY}, {NAN, 7}));
    CHECK_FALSE(passes({5, 5}, {0.1f, NAN}));
    CHECK_FALSE(passes({NAN, NAN}, {0.1f, 1}));
}

TEST_CASE("strided outputs are compared in row-major order of their shape") {
    const std::vector<double> values = reals(12);
    Tensor transposed = rounded_to(Dtype::float32, {4, 3}, values);
    for (int64_t i = 0; i < 12; ++i) store(transposed, i % 3 * 4 + i / 3, values[static_cast<size_t>(i)]);
    transposed.shape = {4, 3};
    transposed.strides = {1, 4};
    CHECK(check(transposed, oracle_of({4, 3}, values), bound_of(Accuracy::B)).passed);
    store(transposed, 11, 9);
    const Comparison result = check(transposed, oracle_of({4, 3}, values), bound_of(Accuracy::B));
    CHECK(result.deviation.where == "last element");
}

TEST_CASE("the vectorised scan agrees with the rule for one element", "[vectors]") {
    std::vector<double> oracle = reals(4000, 7);
    const std::vector<double> scale = reals(4000, 8);
    for (size_t i = 0; i < oracle.size(); ++i) oracle[i] = std::ldexp(oracle[i], static_cast<int>(scale[i] * 80));
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
        for (const Accuracy accuracy : kElementwise) {
            Bound bound = bound_of(accuracy, 1.5);
            bound.tolerance = {1e-30, 1e-6, 0, true};
            const Tensor actual = rounded_to(dtype, {4000}, oracle);
            for (int64_t i = 0; i < 4000; i += 3) bump(actual, i);
            int64_t wrong = 0;
            for (int64_t i = 0; i < 4000; ++i) {
                const double e = oracle[static_cast<size_t>(i)];
                const double sum = accuracy == Accuracy::D ? std::fabs(e) : 0;
                wrong += judge(real_of(actual, i), e, sum, make_rule(bound, dtype)).ok ? 0 : 1;
            }
            const Comparison result = check(actual, oracle_of({4000}, oracle), bound);
            INFO(name(dtype) << " class " << static_cast<char>(accuracy));
            CHECK(result.deviation.mismatches == wrong);
        }
    }
}

TEST_CASE("the figures of right outputs are the largest of their elements, wherever these are", "[vectors]") {
    constexpr int64_t kCount = 5003;
    const Bound bound = tolerance_of(1, 1e-3);
    for (const Dtype dtype : kFloats) {
        std::vector<double> oracle = reals(kCount, 9);
        // Equal elements at first, and an exact zero.
        for (size_t i = 0; i < 1500; ++i) oracle[i] = 0.25 * static_cast<double>(i % 7);
        const Tensor actual = rounded_to(dtype, {kCount}, oracle);
        store(actual, 1, 0.5);
        const Rule rule = make_rule(bound, dtype);
        // Each raises some figures beyond those of all others: the share; the ratio to the exact value and the ulp; the
        // ulp alone; the share again; the ratio and the ulp; the ratio alone, as the ulp of denormals is constant.
        const struct {
            int64_t place;
            double exact, actual;
        } steps[] = {{7, 8, 8.25},
                     {1023, 0x1.02p-10, -0.25},
                     {1024, 0x1.fcp-11, -0.234375},
                     {1601, 40, 40.5},
                     {4090, std::ldexp(1.0, rule.format.min_exponent - 3), -0.25},
                     {5002, std::ldexp(1.0, rule.format.min_exponent - 6), -0.125}};
        for (const auto& [place, exact, wrong] : steps) {
            oracle[static_cast<size_t>(place)] = exact;
            store(actual, place, wrong);
            Judgement most;
            for (int64_t i = 0; i < kCount; ++i) {
                const Judgement one = judge(real_of(actual, i), oracle[static_cast<size_t>(i)], 0, rule);
                REQUIRE(one.ok);
                most.abs_error = std::max(most.abs_error, one.abs_error);
                most.rel_error = std::max(most.rel_error, one.rel_error);
                most.ulp_error = std::max(most.ulp_error, one.ulp_error);
                most.share = std::max(most.share, one.share);
            }
            const Comparison result = check(actual, oracle_of({kCount}, oracle), bound);
            INFO(name(dtype) << " place " << place << ": " << result.reason);
            CHECK(result.passed);
            CHECK(result.deviation.max_abs == most.abs_error);
            CHECK(result.deviation.max_rel == Approx(most.rel_error).epsilon(1e-12));
            CHECK(result.deviation.max_ulp == Approx(most.ulp_error).epsilon(1e-12));
            CHECK(result.deviation.budget_used == Approx(most.share).epsilon(1e-12));
        }
    }
}

TEST_CASE("the comparisons of the parts of an output together have the figures of the whole") {
    constexpr int64_t kRows = 5, kColumns = 700;
    const std::vector<double> values = reals(kRows * kColumns);
    Bound bound;
    bound.accuracy = Accuracy::C;
    bound.max_ulp = 3;
    for (const int64_t worst : {3, 2000, 3499}) {
        const Tensor actual = rounded_to(Dtype::float32, {kRows, kColumns}, values);
        const Tensor oracle = oracle_of({kRows, kColumns}, values);
        bump(actual, worst);
        const Comparison whole = compare(actual, oracle, {actual.shape, Dtype::float32, {}}, bound, nullptr);
        Comparison all;
        for (int64_t row = 0; row < kRows; ++row) {
            const auto part = [&](Tensor tensor) {
                tensor.shape = {kColumns};
                tensor.strides = {1};
                tensor.offset = row * kColumns;
                return tensor;
            };
            join(all, compare(part(actual), part(oracle), {{kColumns}, Dtype::float32, {}}, bound, nullptr));
        }
        REQUIRE(whole.passed);
        CHECK(all.passed);
        const Deviation &came = all.deviation, &wanted = whole.deviation;
        CHECK(came.accuracy_class == wanted.accuracy_class);
        CHECK(came.numel == wanted.numel);
        CHECK(came.max_abs == wanted.max_abs);
        CHECK(came.max_rel == wanted.max_rel);
        CHECK(came.max_ulp == wanted.max_ulp);
        CHECK(came.budget_used == wanted.budget_used);
        CHECK(came.cosine == Approx(wanted.cosine).epsilon(1e-15));
        CHECK(all.cosine_sums.dot == Approx(whole.cosine_sums.dot).epsilon(1e-12));
    }
}

TEST_CASE("the legacy check allows its share of mismatches and no more") {
    const std::vector<double> values(1000, 1.0);
    const Tensor actual = rounded_to(Dtype::float32, {1000}, values);
    const Tensor oracle = oracle_of({1000}, values);
    store(actual, 3, kNan);
    CHECK(compare_legacy(actual, oracle, {1e-5, 1e-5, 1e-3, false}).passed);
    store(actual, 4, 2);
    const Comparison result = compare_legacy(actual, oracle, {1e-5, 1e-5, 1e-3, false});
    CHECK_FALSE(result.passed);
    CHECK(result.deviation.mismatches == 2);
    const Tensor three = tensor_of<int64_t>({3}, Dtype::int64, {1, 2, 3});
    CHECK_FALSE(compare_legacy(three, tensor_of<int64_t>({3}, Dtype::int64, {1, 2, 4}), {}).passed);
    CHECK_FALSE(compare_legacy(three, tensor_of<int64_t>({2}, Dtype::int64, {1, 2}), {}).passed);
}

TEST_CASE("a sum beside the overflow may be infinite or finite, as far as its error reaches", "[compare]") {
    Bound bound;
    bound.accuracy = Accuracy::D;
    bound.accumulation_length = 8;
    const double inf = std::numeric_limits<double>::infinity();
    const Rule half = make_rule(bound, Dtype::float16);
    const double reach = half.sums * 1e5;
    CHECK(judge(inf, 65520 - 0.9 * reach, 1e5, half).ok);
    CHECK(judge(-inf, -65520 + 0.9 * reach, 1e5, half).ok);
    CHECK(judge(65504, 65520 + 0.9 * reach, 1e5, half).ok);
    CHECK_FALSE(judge(inf, 65520 - 1.1 * reach, 1e5, half).ok);
    CHECK_FALSE(judge(-inf, 65520 - 0.9 * reach, 1e5, half).ok);
    CHECK_FALSE(judge(65504, 65520 + 1.1 * reach, 1e5, half).ok);
    CHECK_FALSE(judge(65472, 65520 + 0.9 * reach, 1e5, half).ok);
    CHECK_FALSE(judge(inf, 65504, 65504, half).ok);
    CHECK_FALSE(judge(65504, inf, inf, half).ok);
    // An error of 10000: of 75000 all from 65000 on is right, and infinity.
    const double terms = 1e4 / half.sums;
    for (const double right : {65504.0, 65024.0, 64992.0, inf}) CHECK(judge(right, 75000, terms, half).ok);
    for (const double wrong : {64928.0, -65504.0, -inf}) CHECK_FALSE(judge(wrong, 75000, terms, half).ok);
    CHECK(judge(-65024, -75000, terms, half).ok);
    CHECK_FALSE(judge(-64928, -75000, terms, half).ok);
    CHECK_FALSE(judge(65504, 76000, terms, half).ok);
}

TEST_CASE("an overflow may be NaN where terms of both signs overflow in the working dtype", "[compare]") {
    Bound bound;
    bound.accuracy = Accuracy::D;
    bound.accumulation_length = 8;
    const double nan = std::nan("");
    const Rule wide = make_rule(bound, Dtype::float32), half = make_rule(bound, Dtype::float16);
    CHECK(judge(nan, 1e39, 3e39, wide).ok);
    CHECK_FALSE(judge(nan, 1e39, 1e39, wide).ok);
    CHECK_FALSE(judge(nan, 1e5, 3e5, half).ok);
    // An infinite term, and finite ones that overflow.
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(judge(nan, inf, 3e39, wide).ok);
    CHECK_FALSE(judge(nan, inf, 1e38, wide).ok);
    CHECK_FALSE(judge(-inf, inf, 3e39, wide).ok);
}

TEST_CASE("a finite result without an error bound may have any value", "[compare]") {
    Bound bound;
    bound.accuracy = Accuracy::E;
    const double inf = std::numeric_limits<double>::infinity();
    const Rule half = make_rule(bound, Dtype::float16);
    for (const double value : {3.0, -61'700.0, inf}) {
        CHECK(judge(value, 100, inf, half).ok);
        CHECK(judge(value, -79'651, inf, half).ok);
    }
    CHECK_FALSE(judge(3, inf, inf, half).ok);
    CHECK_FALSE(judge(3, 100, 1, half).ok);
    CHECK_FALSE(judge(-61'700, -79'651, 1, half).ok);
}

TEST_CASE("a sum of terms that overflow in the working dtype may be infinite or NaN though it is finite", "[compare]") {
    Bound bound;
    bound.accuracy = Accuracy::D;
    bound.accumulation_length = 8;
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const Rule wide = make_rule(bound, Dtype::float32), half = make_rule(bound, Dtype::float16);
    const Rule widest = make_rule(bound, Dtype::float64);
    // Terms of both signs overflow: 1.55e39 - 1.45e39.
    for (const double lost : {inf, -inf, nan}) {
        CHECK(judge(lost, 1e38, 3e39, wide).ok);
        CHECK(judge(lost, 1e308, inf, widest).ok);
        CHECK(judge(lost, -inf, inf, widest).ok);
        CHECK(judge(lost, nan, inf, widest).ok);
    }
    CHECK_FALSE(judge(-inf, inf, 1e308, widest).ok);
    CHECK_FALSE(judge(1e308, -inf, inf, widest).ok);
    // Terms of the result's sign overflow alone: 3.5e38 - 0.5e38.
    CHECK(judge(inf, 3e38, 4e38, wide).ok);
    CHECK_FALSE(judge(-inf, 3e38, 4e38, wide).ok);
    CHECK_FALSE(judge(nan, 3e38, 4e38, wide).ok);
    // None overflows.
    CHECK_FALSE(judge(inf, 1e38, 3e38, wide).ok);
    CHECK_FALSE(judge(inf, 6e4, 3e5, half).ok);
    CHECK_FALSE(judge(inf, 1e307, 1e308, widest).ok);
    // A finite value must be within the bound of its terms.
    CHECK_FALSE(judge(2e38, 1e38, 3e39, wide).ok);
    const double reach = widest.sums * 1.7e308;
    CHECK(judge(1e306 + reach, 1e306, inf, widest).ok);
    CHECK_FALSE(judge(1e306 + 1.1 * reach, 1e306, inf, widest).ok);
}
