#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "cases/draw.hpp"
#include "core/convert.hpp"
#include "runtime/device.hpp"

using namespace diopi;

namespace {

constexpr uint64_t kFillKey = 0x5eed;
constexpr double kInf = std::numeric_limits<double>::infinity();

CaseTensor filled_argument(Fill fn, Shape shape, Dtype dtype = Dtype::float32) {
    CaseTensor tensor;
    tensor.name = "input";
    tensor.fill.fn = fn;
    tensor.specs = {{std::move(shape), dtype, {}}};
    return tensor;
}

/// The elements as doubles, in row-major order; complex tensors give real and imaginary parts in turn.
std::vector<double> values_of(const Tensor& tensor) {
    auto wide = make_tensor(cpu_device(), {tensor.shape, wide_dtype(tensor.dtype), {}});
    REQUIRE(wide.ok());
    widen(tensor, **wide);
    const auto n = static_cast<size_t>((*wide)->numel());
    std::vector<double> out(n);
    if ((*wide)->dtype == Dtype::int64) {
        std::copy_n((*wide)->data_as<int64_t>(), n, out.begin());
    } else if ((*wide)->dtype == Dtype::boolean) {
        std::copy_n((*wide)->data_as<bool>(), n, out.begin());
    } else {
        out.resize((*wide)->dtype == Dtype::complex128 ? 2 * n : n);
        std::copy_n((*wide)->data_as<double>(), out.size(), out.begin());
    }
    return out;
}

std::vector<double> drawn(const CaseTensor& tensor) {
    auto list = draw(tensor, kFillKey);
    INFO((list.ok() ? "" : list.error().message));
    REQUIRE(list.ok());
    std::vector<double> all;
    for (const TensorPtr& one : *list) {
        const std::vector<double> values = values_of(*one);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

TensorPtr doubles(const std::vector<double>& values) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, Dtype::float64, {}});
    REQUIRE(tensor.ok());
    std::ranges::copy(values, (*tensor)->data_as<double>());
    return *tensor;
}

CaseTensor captured(TensorPtr values, Shape shape, Dtype dtype) {
    CaseTensor tensor = filled_argument(Fill::kCaptured, std::move(shape), dtype);
    tensor.captured = std::move(values);
    return tensor;
}

int64_t count(const std::vector<double>& values, const std::function<bool(double)>& test) {
    return std::ranges::count_if(values, test);
}

}  // namespace

TEST_CASE("exact numbers are small, whole, of both signs and rarely zero", "[draw]") {
    const std::map<Dtype, double> ranges = {{Dtype::float32, 4},   {Dtype::float64, 4},   {Dtype::tfloat32, 4},
                                            {Dtype::complex64, 4}, {Dtype::int32, 4},     {Dtype::complex128, 4},
                                            {Dtype::float16, 2},   {Dtype::complex32, 2}, {Dtype::bfloat16, 1}};
    for (const auto& [dtype, range] : ranges) {
        CAPTURE(name(dtype));
        const std::vector<double> values = drawn(filled_argument(Fill::kExact, {100, 120}, dtype));
        CHECK(count(values, [r = range](double x) { return x != std::floor(x) || std::fabs(x) > r; }) == 0);
        const auto n = static_cast<int64_t>(values.size());
        CHECK(count(values, [](double x) { return x == 0; }) > n / 50);
        CHECK(count(values, [](double x) { return x == 0; }) < n / 16);
        CHECK(count(values, [](double x) { return x < 0; }) > n * 2 / 5);
        CHECK(count(values, [](double x) { return x > 0; }) > n * 2 / 5);
        CHECK(count(values, [r = range](double x) { return x == r; }) > n / 20);
    }
    CHECK(count(drawn(filled_argument(Fill::kExact, {4000}, Dtype::uint8)), [](double x) { return x < 0 || x > 4; }) ==
          0);
}

TEST_CASE("exact numbers are never zero at the last index and at the ends of tiles", "[draw]") {
    const Shape shape = {6, 30, 53};
    const std::vector<double> values = drawn(filled_argument(Fill::kExact, shape));
    int64_t zeros = 0, wrong = 0;
    for (int64_t i = 0; i < numel(shape); ++i) {
        const int64_t x = i % 53, y = i / 53 % 30, z = i / 53 / 30;
        const bool edge = x % 8 == 0 || x % 8 == 7 || x == 52 || y == 29 || z == 5;
        if (values[static_cast<size_t>(i)] == 0) ++(edge ? wrong : zeros);
    }
    CHECK(wrong == 0);
    CHECK(zeros > 100);
}

TEST_CASE("sums of exact products are equal in float in any order", "[draw]") {
    const int64_t n = int64_t{1} << 20;
    CaseTensor list = filled_argument(Fill::kExact, {n});
    list.specs.push_back(list.specs.front());
    auto pair = draw(list, kFillKey);
    REQUIRE(pair.ok());
    const auto* a = (*pair)[0]->data_as<float>();
    const auto* b = (*pair)[1]->data_as<float>();
    double wide = 0;
    float forwards = 0, backwards = 0, even = 0, odd = 0, magnitudes = 0;
    for (int64_t i = 0; i < n; ++i) {
        wide += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        forwards += a[i] * b[i];
        backwards += a[n - 1 - i] * b[n - 1 - i];
        (i % 2 == 0 ? even : odd) += a[i] * b[i];
        magnitudes += std::fabs(a[i] * b[i]);
    }
    CHECK(static_cast<double>(forwards) == wide);
    CHECK(static_cast<double>(backwards) == wide);
    CHECK(static_cast<double>(even + odd) == wide);
    CHECK(magnitudes <= 0x1p24f);
}

TEST_CASE("special numbers have every kind, and are few and spread out", "[draw]") {
    struct Format {
        Dtype dtype;
        int least_exponent, significand;
    };
    const Format formats[] = {{Dtype::float16, -14, 11},     {Dtype::bfloat16, -126, 8},  {Dtype::tfloat32, -126, 11},
                              {Dtype::float32, -126, 24},    {Dtype::float64, -1022, 53}, {Dtype::complex64, -126, 24},
                              {Dtype::complex128, -1022, 53}};
    for (const auto& [dtype, least, significand] : formats) {
        for (const Shape& shape : {Shape{32}, Shape{4, 8, 200}}) {
            CAPTURE(name(dtype), shape.size());
            const std::vector<double> x = drawn(filled_argument(Fill::kSpecial, shape, dtype));
            const double smallest = std::ldexp(1.0, least), tiny = std::ldexp(smallest, 1 - significand);
            const double largest = std::ldexp(2.0 - std::ldexp(1.0, 1 - significand), 1 - least);
            CHECK(count(x, [](double v) { return std::isnan(v); }) >= 1);
            for (const double kind : {kInf, -kInf, tiny, -tiny, smallest, largest, -largest}) {
                CAPTURE(kind);
                CHECK(count(x, [=](double v) { return v == kind; }) >= 1);
            }
            CHECK(count(x, [](double v) { return v == 0 && !std::signbit(v); }) >= 1);
            CHECK(count(x, [](double v) { return v == 0 && std::signbit(v); }) >= 1);
            const auto plain = [](double v) { return std::fabs(v) > 1e-4 && std::fabs(v) < 6; };
            CHECK(count(x, plain) >= static_cast<int64_t>(x.size()) - 34);
        }
    }
    const std::vector<double> spread = drawn(filled_argument(Fill::kSpecial, {3200}));
    for (size_t stretch = 0; stretch < 32; ++stretch) {
        const auto part = std::vector(spread.begin() + static_cast<int64_t>(stretch) * 100,
                                      spread.begin() + static_cast<int64_t>(stretch + 1) * 100);
        CHECK(count(part, [](double v) { return !(std::fabs(v) > 1e-6 && std::fabs(v) < 6); }) <= 1);
    }
}

TEST_CASE("special numbers of two tensors meet, and NaN has both signs", "[draw]") {
    const auto is_special = [](double v) { return !(std::fabs(v) > 1e-6 && std::fabs(v) < 6); };
    CaseTensor one = filled_argument(Fill::kSpecial, {40, 80}), two = one;
    two.name = "other";
    const std::vector<double> x = drawn(one), y = drawn(two);
    int64_t meetings = 0, equal = 0, negative = 0, nans = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (!is_special(x[i]) || !is_special(y[i])) continue;
        ++meetings;
        equal += x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ? 1 : 0;
    }
    CHECK(meetings >= 12);
    CHECK(equal >= 6);
    CHECK(equal < meetings);
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        one.name = name;
        for (const double v : drawn(one)) {
            nans += std::isnan(v) ? 1 : 0;
            negative += std::isnan(v) && std::signbit(v) ? 1 : 0;
        }
    }
    CHECK(negative > 0);
    CHECK(negative < nans);
}

TEST_CASE("special numbers for sums have none that overflow", "[draw]") {
    for (const auto& [dtype, most] : std::map<Dtype, double>{
             {Dtype::float16, 8}, {Dtype::bfloat16, 0x1p31}, {Dtype::float32, 0x1p31}, {Dtype::float64, 0x1p255}}) {
        CAPTURE(name(dtype));
        const std::vector<double> x = drawn(filled_argument(Fill::kSpecialSums, {5000}, dtype));
        CHECK(count(x, [m = most](double v) { return std::isfinite(v) && std::fabs(v) > m; }) == 0);
        CHECK(count(x, [](double v) { return std::isinf(v); }) >= 2);
        CHECK(count(x, [](double v) { return std::isnan(v); }) >= 1);
        const std::vector<double> factors = drawn(filled_argument(Fill::kSpecialFactors, {5000}, dtype));
        CHECK(count(factors, [](double v) { return !(std::fabs(v) < 6); }) == 0);
        CHECK(count(factors, [](double v) { return v == 0; }) >= 2);
    }
}

TEST_CASE("special integers are the extremes and the smallest", "[draw]") {
    for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int16, Dtype::uint16, Dtype::int32, Dtype::uint32}) {
        CAPTURE(name(dtype));
        const std::vector<double> x = drawn(filled_argument(Fill::kSpecial, {64}, dtype));
        const bool is_signed = dtype == Dtype::int8 || dtype == Dtype::int16 || dtype == Dtype::int32;
        const double top = std::ldexp(1.0, significand_bits(dtype)) - 1;
        CHECK(std::ranges::count(x, top) >= 1);
        CHECK(std::ranges::count(x, is_signed ? -top - 1 : 0) >= 1);
        CHECK(std::ranges::count(x, 1.0) >= 1);
    }
    auto drawn64 = draw(filled_argument(Fill::kSpecial, {64}, Dtype::int64), kFillKey);
    REQUIRE(drawn64.ok());
    const auto* x = drawn64->front()->data_as<int64_t>();
    CHECK(std::count(x, x + 64, std::numeric_limits<int64_t>::min()) >= 1);
    CHECK(std::count(x, x + 64, std::numeric_limits<int64_t>::max()) >= 1);
    auto unsigned64 = draw(filled_argument(Fill::kSpecial, {64}, Dtype::uint64), kFillKey);
    REQUIRE(unsigned64.ok());
    const auto* y = unsigned64->front()->data_as<uint64_t>();
    CHECK(std::count(y, y + 64, std::numeric_limits<uint64_t>::max()) >= 1);
}

TEST_CASE("small, 0-dim and empty tensors have as many special numbers as fit", "[draw]") {
    for (const Fill fn : {Fill::kExact, Fill::kSpecial, Fill::kSpecialSums}) {
        CHECK(drawn(filled_argument(fn, {})).size() == 1);
        CHECK(drawn(filled_argument(fn, {3, 0})).empty());
        CHECK(drawn(filled_argument(fn, {5}, Dtype::boolean)).size() == 5);
    }
    CHECK(std::isfinite(drawn(filled_argument(Fill::kSpecial, {1}))[0]));
    CHECK(count(drawn(filled_argument(Fill::kSpecial, {2})), [](double v) { return v == 0; }) == 1);
    CHECK(drawn(filled_argument(Fill::kExact, {1}))[0] != 0);
}

TEST_CASE("captured values come in order, start again at the end, and continue in a list", "[draw]") {
    const TensorPtr values = doubles({1.5, -2, 300, 4});
    CHECK(drawn(captured(values, {2, 3}, Dtype::float32)) == std::vector<double>{1.5, -2, 300, 4, 1.5, -2});
    CHECK(drawn(captured(values, {4}, Dtype::int8)) == std::vector<double>{1, -2, 127, 4});
    CHECK(drawn(captured(values, {2}, Dtype::complex64)) == std::vector<double>{1.5, 0, -2, 0});
    CaseTensor list = captured(values, {3}, Dtype::float16);
    list.is_list = true;
    list.specs.push_back({{2}, Dtype::float16, {}});
    CHECK(drawn(list) == std::vector<double>{1.5, -2, 300, 4, 1.5});
}

TEST_CASE("captured integers, truths and complex numbers are converted", "[draw]") {
    auto whole = make_tensor(cpu_device(), {{2}, Dtype::int64, {}});
    REQUIRE(whole.ok());
    (*whole)->data_as<int64_t>()[0] = (int64_t{1} << 60) + 1;
    (*whole)->data_as<int64_t>()[1] = -3;
    auto kept = draw(captured(*whole, {2}, Dtype::int64), kFillKey);
    REQUIRE(kept.ok());
    CHECK(kept->front()->data_as<int64_t>()[0] == (int64_t{1} << 60) + 1);
    CHECK(drawn(captured(*whole, {2}, Dtype::float32))[1] == -3);

    auto pairs = make_tensor(cpu_device(), {{2}, Dtype::complex128, {}});
    REQUIRE(pairs.ok());
    for (int i = 0; i < 4; ++i) (*pairs)->data_as<double>()[i] = i + 1;
    CHECK(drawn(captured(*pairs, {3}, Dtype::complex64)) == std::vector<double>{1, 2, 3, 4, 1, 2});
    CHECK(drawn(captured(*pairs, {3}, Dtype::float32)) == std::vector<double>{1, 3, 1});

    auto truths = make_tensor(cpu_device(), {{2}, Dtype::boolean, {}});
    REQUIRE(truths.ok());
    (*truths)->data_as<bool>()[0] = true;
    (*truths)->data_as<bool>()[1] = false;
    CHECK(drawn(captured(*truths, {3}, Dtype::float64)) == std::vector<double>{1, 0, 1});
}

TEST_CASE("missing captured values are refused", "[draw]") {
    auto none = draw(filled_argument(Fill::kCaptured, {2}), kFillKey);
    REQUIRE(!none.ok());
    CHECK(none.error().message == "argument 'input': there are no captured values to take");
}
