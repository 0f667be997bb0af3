#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "check/judge.hpp"
#include "kernels/cpu/half_values.hpp"
#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

using Unary = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);

struct Named {
    const char* name;
    double max_ulps;  ///< more than diopi_accuracy finds (docs/performance.md), and far below the bound of its class
    Unary run;
    std::function<double(double)> exact;
};

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

/// Bisection.
double erfinv(double y) {
    if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? y * HUGE_VAL : std::nan("");
    if (std::fabs(y) < 1e-9) return y * std::sqrt(M_PI) / 2;
    long double low = 0, high = 7;
    for (int i = 0; i < 90; ++i) {
        const long double x = (low + high) / 2, magnitude = std::fabs(y);
        (std::erfc(x) > 1 - magnitude ? low : high) = x;
    }
    return std::copysign(static_cast<double>(low), y);
}

diopiError_t gelu_tanh(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return cpu::diopiGelu(ctx, out, input, "tanh");
}
diopiError_t gelu_exact(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return cpu::diopiGelu(ctx, out, input, "none");
}
diopiError_t cube(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    diopiScalar_t exponent{};
    exponent.stype = diopi_dtype_float64;
    exponent.fval = 3.5;
    return cpu::diopiPow(ctx, out, input, &exponent);
}

const Named kFunctions[] = {
    {"exp", 1.5, cpu::diopiExp, [](double x) { return std::exp(x); }},
    {"expm1", 2, cpu::diopiExpm1, [](double x) { return std::expm1(x); }},
    {"log", 1, cpu::diopiLog, [](double x) { return std::log(x); }},
    {"log2", 1, cpu::diopiLog2, [](double x) { return std::log2(x); }},
    {"log10", 1, cpu::diopiLog10, [](double x) { return std::log10(x); }},
    {"log1p", 1.5, cpu::diopiLog1p, [](double x) { return std::log1p(x); }},
    {"sqrt", 0.5, cpu::diopiSqrt, [](double x) { return std::sqrt(x); }},
    {"rsqrt", 1.5, cpu::diopiRsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", 0.5, cpu::diopiReciprocal, [](double x) { return 1 / x; }},
    {"sin", 2, cpu::diopiSin, [](double x) { return std::sin(x); }},
    {"cos", 2, cpu::diopiCos, [](double x) { return std::cos(x); }},
    {"erf", 2.5, cpu::diopiErf, [](double x) { return std::erf(x); }},
    {"tanh", 1.5, cpu::diopiTanh, [](double x) { return std::tanh(x); }},
    {"tan", 3, cpu::diopiTan, [](double x) { return std::tan(x); }},
    {"asin", 2.5, cpu::diopiAsin, [](double x) { return std::asin(x); }},
    {"acos", 2.5, cpu::diopiAcos, [](double x) { return std::acos(x); }},
    {"atan", 2, cpu::diopiAtan, [](double x) { return std::atan(x); }},
    {"sinh", 2.5, cpu::diopiSinh, [](double x) { return std::sinh(x); }},
    {"cosh", 2.5, cpu::diopiCosh, [](double x) { return std::cosh(x); }},
    {"asinh", 3.5, cpu::diopiAsinh, [](double x) { return std::asinh(x); }},
    {"acosh", 3.5, cpu::diopiAcosh, [](double x) { return std::acosh(x); }},
    {"atanh", 4, cpu::diopiAtanh, [](double x) { return std::atanh(x); }},
    {"erfinv", 3.5, cpu::diopiErfinv, erfinv},
    {"sigmoid", 3, cpu::diopiSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", 4, cpu::diopiSilu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"gelu", 7, gelu_exact, gelu},
    {"gelu tanh", 4, gelu_tanh,
     [](double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"pow 3.5", 0.51, cube, [](double x) { return std::pow(x, 3.5); }},
};

struct NamedWide {
    const char* name;
    double max_ulps;
    Unary run;
    std::function<long double(long double)> exact;
};

const NamedWide kWideFunctions[] = {
    {"exp", 1.1, cpu::diopiExp, [](long double x) { return std::exp(x); }},
    {"expm1", 2, cpu::diopiExpm1, [](long double x) { return std::expm1(x); }},
    {"log", 1, cpu::diopiLog, [](long double x) { return std::log(x); }},
    {"log2", 1.2, cpu::diopiLog2, [](long double x) { return std::log2(x); }},
    {"log10", 1.2, cpu::diopiLog10, [](long double x) { return std::log10(x); }},
    {"log1p", 1.5, cpu::diopiLog1p, [](long double x) { return std::log1p(x); }},
    {"rsqrt", 1.5, cpu::diopiRsqrt, [](long double x) { return 1 / std::sqrt(x); }},
    {"sin", 2, cpu::diopiSin, [](long double x) { return std::sin(x); }},
    {"cos", 2, cpu::diopiCos, [](long double x) { return std::cos(x); }},
    {"tanh", 2.7, cpu::diopiTanh, [](long double x) { return std::tanh(x); }},
    {"tan", 3, cpu::diopiTan, [](long double x) { return std::tan(x); }},
    {"sinh", 4, cpu::diopiSinh, [](long double x) { return std::sinh(x); }},
    {"cosh", 3, cpu::diopiCosh, [](long double x) { return std::cosh(x); }},
    {"asinh", 3.5, cpu::diopiAsinh, [](long double x) { return std::asinh(x); }},
    {"acosh", 3.5, cpu::diopiAcosh, [](long double x) { return std::acosh(x); }},
    {"atanh", 4, cpu::diopiAtanh, [](long double x) { return std::atanh(x); }},
    {"sigmoid", 3, cpu::diopiSigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", 4, cpu::diopiSilu, [](long double x) { return x / (1 + std::exp(-x)); }},
};

/// float64 numbers of both signs and every exponent from denormals to 2^12, and beyond; NaN and infinity.
Values all_kinds_of_doubles() {
    Values list = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 5e-324, -5e-324, 3e-310, 1e22, -1e300, 1.7e308};
    uint64_t state = 1;
    for (int exponent = -1060; exponent <= 12; exponent += exponent < -60 ? 50 : 1) {
        for (int i = 0; i < 600; ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            const double m = 1 + static_cast<double>(state >> 11) * 0x1p-53;
            list.push_back(std::ldexp(i % 2 == 0 ? m : -m, exponent));
        }
    }
    for (int i = -40; i <= 40; ++i) {
        list.push_back(1 + i * 0x1p-52);
        list.push_back(i * M_PI / 2);
        list.push_back(i * 1e6 * M_PI / 2);
    }
    return list;
}

/// Every 61,007th float32 number, both signs, NaN and infinity among them; and the neighbourhood of 1 and of multiples
/// of pi / 2.
Values all_kinds_of_floats() {
    Values list = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-45, -1e-45, 3.4e38};
    for (uint64_t bits = 0; bits < 0x100000000; bits += 61007) {
        list.push_back(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    }
    for (int i = -40; i <= 40; ++i) {
        list.push_back(static_cast<double>(1.0F + static_cast<float>(i) * 0x1p-23F));
        list.push_back(static_cast<double>(static_cast<float>(i * M_PI / 2)));
        list.push_back(static_cast<double>(static_cast<float>(i * 1e4 * M_PI / 2)));
    }
    return list;
}

}  // namespace

TEST_CASE("functions of float32 numbers have errors of little more than their rounding", "[vectors]") {
    const Values list = all_kinds_of_floats();
    const auto n = static_cast<int64_t>(list.size());
    const auto in = tensor({n}, Dtype::float32, list), out = unwritten({n}, Dtype::float32);
    const Format format = format_of(Dtype::float32);
    const Values x = values(*in);
    diopiContext ctx(cpu_device());
    for (const Named& function : kFunctions) {
        REQUIRE(function.run(&ctx, out.get(), in.get()) == diopiSuccess);
        const Values got = values(*out);
        double worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double exact = function.exact(x[i]);
            INFO(function.name << " of " << x[i] << " is " << got[i] << ", wanted " << exact);
            const bool special = std::isnan(exact) || std::fabs(exact) >= format.overflow;
            if (special) {
                const bool same = std::isnan(exact) ? std::isnan(got[i]) : got[i] == std::copysign(HUGE_VAL, exact);
                if (!same) REQUIRE(same);
                continue;
            }
            const double ulps = std::fabs(got[i] - exact) / ulp_of(exact, format);
            if (!(ulps <= function.max_ulps)) REQUIRE(ulps <= function.max_ulps);
            worst = std::max(worst, ulps);
        }
        CHECK(worst > 0.4);
    }
}

TEST_CASE("square roots of float32 numbers are the nearest ones, for all digits", "[vectors]") {
    // The roots of numbers from 1 to 4; those of others have other exponents and the same digits.
    constexpr uint32_t kFirst = 0x3f800000, kEnd = 0x40800000, kPart = 1 << 20;
    const auto in = unwritten({kPart}, Dtype::float32), out = unwritten({kPart}, Dtype::float32);
    auto* x = static_cast<float*>(in->data());
    const auto* root = static_cast<const float*>(out->data());
    diopiContext ctx(cpu_device());
    for (uint32_t first = kFirst; first < kEnd; first += kPart) {
        for (uint32_t i = 0; i < kPart; ++i) x[i] = std::bit_cast<float>(first + i);
        REQUIRE(cpu::diopiSqrt(&ctx, out.get(), in.get()) == diopiSuccess);
        int64_t wrong = 0;
        for (uint32_t i = 0; i < kPart; ++i) wrong += root[i] != std::sqrt(x[i]) ? 1 : 0;
        CHECK(wrong == 0);
    }
}

TEST_CASE("functions of float64 numbers have errors of little more than their rounding", "[vectors]") {
    const Values list = all_kinds_of_doubles();
    const auto n = static_cast<int64_t>(list.size());
    const auto in = tensor({n}, Dtype::float64, list), out = unwritten({n}, Dtype::float64);
    const Format format = format_of(Dtype::float64);
    diopiContext ctx(cpu_device());
    for (const NamedWide& function : kWideFunctions) {
        REQUIRE(function.run(&ctx, out.get(), in.get()) == diopiSuccess);
        const Values got = values(*out);
        double worst = 0;
        for (size_t i = 0; i < list.size(); ++i) {
            const long double exact = function.exact(static_cast<long double>(list[i]));
            const auto nearest = static_cast<double>(exact);
            INFO(function.name << " of " << list[i] << " is " << got[i] << ", wanted " << nearest);
            if (std::isnan(nearest) || std::isinf(nearest)) {
                const bool same = std::isnan(nearest) ? std::isnan(got[i]) : got[i] == nearest;
                if (!same) REQUIRE(same);
                continue;
            }
            const auto error = static_cast<double>(std::fabs(static_cast<long double>(got[i]) - exact));
            const double ulps = error / ulp_of(nearest, format);
            if (!(ulps <= function.max_ulps)) REQUIRE(ulps <= function.max_ulps);
            worst = std::max(worst, ulps);
        }
        CHECK(worst > 0.4);
    }
}

TEST_CASE("functions of numbers accept every dtype, strides, tails and their own input as output", "[vectors]") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64);
    diopiContext ctx(cpu_device());
    for (const int64_t n : {1, 3, 4, 5, 1031}) {
        const auto x = random({n, 2}, dtype, 7, scattered({n, 2})), y = unwritten({n, 2}, dtype);
        REQUIRE(cpu::diopiTanh(&ctx, y.get(), x.get()) == diopiSuccess);
        Values expected = values(*x);
        for (double& v : expected) v = std::tanh(v);
        check_close(*y, expected, 1);
        REQUIRE(cpu::diopiTanhInp(&ctx, x.get()) == diopiSuccess);
        check_close(*x, expected, 1);
    }
    const auto whole = tensor({3}, Dtype::int64, {0, 1, 4}), root = unwritten({3}, dtype);
    REQUIRE(cpu::diopiSqrt(&ctx, root.get(), whole.get()) == diopiSuccess);
    CHECK(values(*root) == Values{0, 1, 2});
}

TEST_CASE("values that are looked up have the bits of computed ones", "[vectors]") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::bfloat16);
    constexpr int64_t kAll = 1 << 16, kPart = cpu::kLookUpElements / 2;
    const auto bits = [](const TensorPtr& tensor) { return static_cast<uint16_t*>(tensor->data()); };
    diopiContext ctx(cpu_device());
    for (const Named& function : kFunctions) {
        INFO(function.name);
        const auto x = unwritten({kAll}, dtype), y = unwritten({kAll}, dtype);
        std::iota(bits(x), bits(x) + kAll, 0);
        std::vector<uint16_t> computed;
        for (int64_t first = 0; first < kAll; first += kPart) {
            const auto part = unwritten({kPart}, dtype), result = unwritten({kPart}, dtype);
            std::copy_n(bits(x) + first, kPart, bits(part));
            REQUIRE(function.run(&ctx, result.get(), part.get()) == diopiSuccess);
            computed.insert(computed.end(), bits(result), bits(result) + kPart);
        }
        for (int64_t n = 0; n <= cpu::kFillElements; n += kAll) {
            REQUIRE(function.run(&ctx, y.get(), x.get()) == diopiSuccess);
            CHECK(std::equal(computed.begin(), computed.end(), bits(y)));
        }
        const auto apart = unwritten({kAll}, dtype, {2}), result = unwritten({kAll}, dtype, {3});
        for (int64_t i = 0; i < kAll; ++i) bits(apart)[2 * i] = static_cast<uint16_t>(i);
        REQUIRE(function.run(&ctx, result.get(), apart.get()) == diopiSuccess);
        int64_t wrong = 0;
        for (int64_t i = 0; i < kAll; ++i) wrong += bits(result)[3 * i] != computed[static_cast<size_t>(i)] ? 1 : 0;
        CHECK(wrong == 0);
        REQUIRE(function.run(&ctx, x.get(), x.get()) == diopiSuccess);
        CHECK(std::equal(computed.begin(), computed.end(), bits(x)));
        CHECK(function.run(&ctx, unwritten({kPart}, dtype).get(), x.get()) == diopiErrorOccurred);
    }
}

TEST_CASE("functions of numbers refuse results that are not floating, complex inputs and other shapes", "[vectors]") {
    diopiContext ctx(cpu_device());
    const auto whole = unwritten({2}, Dtype::int32), real = unwritten({2}, Dtype::float32);
    CHECK(cpu::diopiExp(&ctx, whole.get(), real.get()) == diopiDtypeNotSupported);
    CHECK(last_error() == "diopiExp: the output is int32, wanted a floating dtype");
    const auto complex = make_tensor(cpu_device(), {{2}, Dtype::complex64, {}});
    REQUIRE(complex.ok());
    CHECK(cpu::diopiExp(&ctx, real.get(), complex->get()) == diopiDtypeNotSupported);
    CHECK(cpu::diopiExp(&ctx, real.get(), unwritten({3}, Dtype::float32).get()) == diopiErrorOccurred);
    CHECK(cpu::diopiGelu(&ctx, real.get(), real.get(), "erf") == diopiErrorOccurred);
    CHECK(last_error() == "diopiGelu: approximate is 'erf', wanted 'none' or 'tanh'");
}
