#include <catch2/catch.hpp>

#include "core/format.hpp"
#include "core/normal.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"
#include "runtime/generator.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

template <class Number>
Values wanted(Dtype dtype, int64_t n, double mean, double std, uint64_t seed, uint64_t offset) {
    std::vector<Number> numbers(static_cast<size_t>(n));
    normal_block(seed, offset, 0, std::span<Number>(numbers));
    Values result;
    for (const Number x : numbers) result.push_back(rounded(dtype, mean + std * double(x)));
    return result;
}

}  // namespace

TEST_CASE("normal_ gives the numbers of the generator in row-major order", "[cpu][random]") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        for (const auto& [shape, strides] :
             {std::pair<Shape, Shape>{{1025}, {}}, {{50, 41}, {1, 50}}, {{}, {}}, {{6}, {3}}}) {
            const auto t = blank(dtype, shape, strides);
            diopiGenerator generator{77, 8};
            REQUIRE(cpu::diopiNormalInp(&context, t.get(), -0.25, 3.5, &generator) == diopiSuccess);
            const int64_t n = t->numel();
            INFO(name(dtype) << " " << to_string(shape));
            CHECK(same(values(t), dtype == Dtype::float64 ? wanted<double>(dtype, n, -0.25, 3.5, 77, 8)
                                                          : wanted<float>(dtype, n, -0.25, 3.5, 77, 8)));
            CHECK(generator.seed == 77);
            CHECK(generator.offset == 8 + static_cast<uint64_t>((n + 3) / 4 * 4));
        }
    }
}

TEST_CASE("normal numbers take their mean and deviation from one number or from each element's own", "[cpu][random]") {
    const int64_t rows = 3, columns = 700, n = rows * columns;
    const auto means = generate(Dtype::float32, {rows, columns}, [](int64_t i) { return double(i % 13) - 6; });
    const auto deviations = generate(Dtype::float32, {1, columns}, [](int64_t i) { return double(i % 5) / 4; });
    const auto one_mean = generate(Dtype::float32, {1}, [](int64_t) { return -0.25; });
    const auto one_deviation = generate(Dtype::float32, {}, [](int64_t) { return 3.5; });
    const Values own_mean = values(means), own_deviation = values(deviations);
    const auto check = [&](bool has_means, bool has_deviations, const auto& draw) {
        INFO((has_means ? "means, " : "one mean, ") << (has_deviations ? "deviations" : "one deviation"));
        const auto out = blank(Dtype::float32, {rows, columns});
        diopiGenerator generator{77, 8};
        REQUIRE(draw(out.get(), &generator) == diopiSuccess);
        std::vector<float> numbers(static_cast<size_t>(n));
        normal_block(77, 8, 0, std::span<float>(numbers));
        Values expected;
        for (int64_t i = 0; i < n; ++i) {
            const double mean = has_means ? own_mean[size_t(i)] : -0.25;
            const double deviation = has_deviations ? own_deviation[size_t(i % columns)] : 3.5;
            expected.push_back(rounded(Dtype::float32, mean + deviation * double(numbers[size_t(i)])));
        }
        CHECK(same(values(out), expected));
    };
    check(false, false, [&](auto out, auto g) { return cpu::diopiNormal(&context, out, -0.25, 3.5, g); });
    check(true, false,
          [&](auto out, auto g) { return cpu::diopiNormalTensorScalar(&context, out, means.get(), 3.5, g); });
    check(false, true,
          [&](auto out, auto g) { return cpu::diopiNormalTensor(&context, out, one_mean.get(), deviations.get(), g); });
    check(true, true,
          [&](auto out, auto g) { return cpu::diopiNormalTensor(&context, out, means.get(), deviations.get(), g); });
    check(true, false,
          [&](auto out, auto g) { return cpu::diopiNormalTensor(&context, out, means.get(), one_deviation.get(), g); });
}

TEST_CASE("normal_ with std 0, of no elements, and its refusals", "[cpu][random]") {
    diopiGenerator generator{1, 4};
    const auto t = blank(Dtype::float32, {5});
    REQUIRE(cpu::diopiNormalInp(&context, t.get(), 2, 0, &generator) == diopiSuccess);
    CHECK(values(t) == Values(5, 2.0));
    const uint64_t before = generator.offset;
    REQUIRE(cpu::diopiNormalInp(&context, blank(Dtype::float32, {0, 3}).get(), 2, 1, &generator) == diopiSuccess);
    CHECK(generator.offset == before);
    CHECK(cpu::diopiNormalInp(&context, t.get(), 0, -1, &generator) == diopiErrorOccurred);
    CHECK(last_error().find("std") != std::string::npos);
    CHECK(cpu::diopiNormalInp(&context, t.get(), 0, 1, nullptr) == diopiErrorOccurred);
    CHECK(cpu::diopiNormalInp(&context, blank(Dtype::int32, {5}).get(), 0, 1, &generator) == diopiDtypeNotSupported);
}

TEST_CASE("uniform_ stays below its upper bound where numbers are rounded to it", "[cpu][random]") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64);
    for (const auto& [from, to] : {std::pair{0.0, 1.0}, {-2.0, 3.0}, {100.0, 101.0}, {-1.0, 0.0}, {-3.0, -2.0}}) {
        const auto t = blank(dtype, {20'000});
        diopiGenerator generator{7, 0};
        REQUIRE(cpu::diopiUniformInp(&context, t.get(), from, to, &generator) == diopiSuccess);
        const Values drawn = values(t);
        INFO(name(dtype) << " " << from << " " << to);
        CHECK(*std::ranges::min_element(drawn) >= from);
        CHECK(*std::ranges::max_element(drawn) < to);
        CHECK(*std::ranges::max_element(drawn) > to - 0.01 * std::max(1.0, std::fabs(to)));
    }
    const auto t = blank(dtype, {5});
    diopiGenerator generator{7, 0};
    REQUIRE(cpu::diopiUniformInp(&context, t.get(), 2, 2, &generator) == diopiSuccess);
    CHECK(values(t) == Values(5, 2.0));
}

TEST_CASE("the largest number below a bound is the bound's neighbour in each format", "[core]") {
    CHECK(largest_below(1, format_of(Dtype::bfloat16)) == 0x1.fep-1);
    CHECK(largest_below(1.001, format_of(Dtype::bfloat16)) == 1);
    CHECK(largest_below(-1, format_of(Dtype::float16)) == -0x1.004p0);
    CHECK(largest_below(0, format_of(Dtype::float32)) == -0x1p-149);
    CHECK(largest_below(0x1p-149, format_of(Dtype::float32)) == 0);
    CHECK(largest_below(101, format_of(Dtype::float64)) == std::nextafter(101, 0));
    CHECK(largest_below(1e9, format_of(Dtype::float16)) == 65504);
}

TEST_CASE("bernoulli compares the generator's numbers with p, in every dtype and stride", "[cpu][random]") {
    const Dtype dtype = GENERATE(Dtype::boolean, Dtype::int8, Dtype::int64, Dtype::float16, Dtype::bfloat16,
                                 Dtype::float32, Dtype::float64);
    const int64_t n = GENERATE(0, 1, 5000, 70000), stride = GENERATE(1, 2);
    const double p = GENERATE(0.0, 0.3, 0.9, 1.0);
    std::vector<float> numbers(static_cast<size_t>(n));
    uniform_block(77, 8, 0, std::span<float>(numbers));
    Values below;
    for (const float u : numbers) below.push_back(double(u) < p);
    diopiGenerator generator{77, 8};
    const auto t = blank(dtype, {n}, {stride});
    REQUIRE(cpu::diopiBernoulliScalar(&context, t.get(), p, &generator) == diopiSuccess);
    CHECK(same(values(t), below));
    CHECK(generator.offset == 8 + static_cast<uint64_t>((n + 3) / 4 * 4));
}

TEST_CASE("bernoulli accepts a probability for each element, in place too", "[cpu][random]") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64);
    const int64_t n = 5000, stride = GENERATE(1, 2);
    std::vector<float> numbers(static_cast<size_t>(n));
    uniform_block(5, 0, 0, std::span<float>(numbers));
    const auto p = generate(dtype, {n}, [](int64_t i) { return double(i % 9) / 8; }, {stride});
    Values below;
    for (size_t i = 0; i < numbers.size(); ++i) below.push_back(double(numbers[i]) < double(i % 9) / 8);
    diopiGenerator generator{5, 0};
    const auto y = blank(Dtype::uint8, {n}, {stride});
    REQUIRE(cpu::diopiBernoulli(&context, y.get(), p.get(), &generator) == diopiSuccess);
    CHECK(same(values(y), below));
    generator = {5, 0};
    REQUIRE(cpu::diopiBernoulliInp(&context, p.get(), &generator) == diopiSuccess);
    CHECK(same(values(p), below));
}

TEST_CASE("bernoulli refuses numbers that are not probabilities", "[cpu][random]") {
    diopiGenerator generator{1, 4};
    const auto t = tensor(Dtype::float32, {2}, {0.5, 1.25});
    CHECK(cpu::diopiBernoulliInp(&context, t.get(), &generator) == diopiErrorOccurred);
    CHECK(last_error() == "diopiBernoulliInp: a probability is outside 0 to 1");
    CHECK(cpu::diopiBernoulliInp(&context, tensor(Dtype::float64, {1}, {NAN}).get(), &generator) == diopiErrorOccurred);
    CHECK(cpu::diopiBernoulliScalar(&context, t.get(), -0.5, &generator) == diopiErrorOccurred);
    CHECK(cpu::diopiBernoulliScalar(&context, t.get(), 0.5, nullptr) == diopiErrorOccurred);
    CHECK(cpu::diopiBernoulliInp(&context, blank(Dtype::int32, {5}).get(), &generator) == diopiDtypeNotSupported);
    CHECK(cpu::diopiBernoulli(&context, blank(Dtype::int32, {5}).get(), t.get(), &generator) == diopiErrorOccurred);
    CHECK(generator.offset == 4);
}
