#include "kernels/reference/vector_math.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/exponentials.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference;
using namespace diopi::reference::testing;

namespace {

/// Numbers of all magnitudes and of the usual ones, of both signs, and special ones.
Values arguments() {
    Values all = {0.0, -0.0, 1, -1, kInf, -kInf, kNaN, 0x1p-1074, -0x1p-1074, 0x1p-1022, 1e308, -1e308, 709.7, -745.2};
    std::mt19937_64 bits(3);
    std::uniform_real_distribution<double> usual(-20, 20), exponent(-1000, 1000), unit(-1, 1);
    for (int i = 0; i < 3000; ++i) {
        all.push_back(usual(bits));
        all.push_back(unit(bits));
        all.push_back(std::copysign(std::exp2(exponent(bits)), unit(bits)));
    }
    return all;
}

bool is_close(double came, double wanted) {
    if (std::isnan(wanted)) return std::isnan(came);
    // Results that are denormal in float64 are 0 in narrower types.
    return came == wanted || std::fabs(came - wanted) <= 0x1p-50 * std::fabs(wanted) + 0x1p-1022;
}

struct Both {
    const char* name;
    double (*exact)(double);
    ArrayFunction* in_vectors;
};

}  // namespace

TEST_CASE("the functions in vectors are within 4 ulp of the C library's", "[reference]") {
    const Both functions[] = {
#define DIOPI_BOTH(name) {#name, std::name, in_vectors::name},
        DIOPI_VECTOR_FUNCTIONS(DIOPI_BOTH)
#undef DIOPI_BOTH
    };
    const Values x = arguments();
    for (const Both& f : functions) {
        CAPTURE(f.name);
        // An odd number of elements, and in place.
        Values y = x;
        const auto n = static_cast<int64_t>(y.size()) - 1;
        f.in_vectors(y.data(), y.data(), n);
        CHECK(std::memcmp(&y.back(), &x.back(), sizeof(double)) == 0);
        // The same results at other places.
        for (const int64_t first : {1, 5, 14}) {
            Values moved(x.begin() + first, x.end());
            f.in_vectors(moved.data(), moved.data(), n - first);
            CHECK(std::memcmp(moved.data(), y.data() + first, static_cast<size_t>(n - first) * sizeof(double)) == 0);
        }
        int wrong = 0;
        for (size_t i = 0; i + 1 < x.size(); ++i) {
            if (is_close(y[i], f.exact(x[i]))) continue;
            ++wrong;
            UNSCOPED_INFO("x " << x[i] << " came " << y[i] << " wanted " << f.exact(x[i]));
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("powers in vectors are within 4 ulp of the C library's, also of 0, infinity, NaN and negative numbers",
          "[reference]") {
    const Values bases = {0.0, -0.0, 1, -1, 2, -2, 0.5, -7.25, 1e-300, 1e300, kInf, -kInf, kNaN};
    const Values exponents = {0.0, -0.0, 1, -1, 2, 3, -3, 0.5, -0.5, 2.5, 1e9 + 1, kInf, -kInf, kNaN};
    Values x, y;
    for (const double base : bases) {
        for (const double exponent : exponents) {
            x.push_back(base);
            y.push_back(exponent);
        }
    }
    std::mt19937_64 bits(5);
    std::uniform_real_distribution<double> usual(-4, 4);
    for (int i = 0; i < 3000; ++i) {
        x.push_back(i % 3 == 0 ? usual(bits) : std::fabs(usual(bits)));
        y.push_back(i % 5 == 0 ? std::round(usual(bits)) : usual(bits));
    }
    Values z(x.size());
    in_vectors::pow(x.data(), y.data(), z.data(), static_cast<int64_t>(x.size()));
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = std::pow(x[i], y[i]);
        double alone = 0;
        in_vectors::pow(&x[i], &y[i], &alone, 1);
        const bool is_same = std::memcmp(&alone, &z[i], sizeof(double)) == 0;
        if (is_same && is_close(z[i], wanted) && (std::isnan(wanted) || std::signbit(z[i]) == std::signbit(wanted)))
            continue;
        ++wrong;
        UNSCOPED_INFO(x[i] << "^" << y[i] << " came " << z[i] << " alone " << alone << " wanted " << wanted);
    }
    CHECK(wrong == 0);
    // In place of either operand.
    Values base = x, exponent = y;
    const auto n = static_cast<int64_t>(x.size());
    in_vectors::pow(base.data(), y.data(), base.data(), n);
    in_vectors::pow(x.data(), exponent.data(), exponent.data(), n);
    CHECK(std::memcmp(base.data(), z.data(), z.size() * sizeof(double)) == 0);
    CHECK(std::memcmp(exponent.data(), z.data(), z.size() * sizeof(double)) == 0);
}

TEST_CASE("functions of few digits have the results of those with all, rounded to float32", "[reference]") {
    using Unary = diopiError_t(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
    Context few(cpu_device()), all(cpu_device());
    few.digits = 24;
    REQUIRE(allows_vectors(few));
    REQUIRE_FALSE(allows_vectors(all));
    Values x;
    for (const double each : arguments()) x.push_back(static_cast<double>(static_cast<float>(each)));
    const auto n = static_cast<int64_t>(x.size());
    const auto gelu = [](const char* word) {
        return [word](diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
            return diopi::reference::diopiGelu(ctx, out, input, word);
        };
    };
    const auto power = [](double fixed, bool is_exponent) {
        return [=](diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
            const diopiScalar_t scalar = number(fixed);
            return is_exponent ? diopi::reference::diopiPow(ctx, out, input, &scalar)
                               : diopi::reference::diopiPowScalar(ctx, out, &scalar, input);
        };
    };
    const auto silu_backward = [&](diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return diopi::reference::diopiSiluBackward(ctx, out, tensor({n}, Values(x.size(), 0.75)).get(), input);
    };
    const std::vector<std::function<Unary>> functions = {diopi::reference::diopiSigmoid,
                                                         diopi::reference::diopiSilu,
                                                         diopi::reference::diopiExp,
                                                         diopi::reference::diopiTan,
                                                         gelu("none"),
                                                         gelu("tanh"),
                                                         power(2.5, true),
                                                         power(-3, true),
                                                         power(0.75, false),
                                                         silu_backward};
    for (size_t f = 0; f < functions.size(); ++f) {
        CAPTURE(f);
        const TensorPtr in = tensor({n}, x), fast = make({n}), exact = make({n});
        REQUIRE(functions[f](&few, fast.get(), in.get()) == diopiSuccess);
        REQUIRE(functions[f](&all, exact.get(), in.get()) == diopiSuccess);
        const Values came = values_of(fast), wanted = values_of(exact);
        for (size_t i = 0; i < x.size(); ++i) {
            const bool is_right = std::isnan(wanted[i])
                                      ? std::isnan(came[i])
                                      : came[i] == wanted[i] ||
                                            std::fabs(came[i] - wanted[i]) <= 0x1p-40 * std::fabs(wanted[i]) + 0x1p-160;
            if (!is_right) UNSCOPED_INFO("x " << x[i] << " came " << came[i] << " wanted " << wanted[i]);
            CHECK(is_right);
        }
    }
}

TEST_CASE("softmax and its gradients of few digits have the results of those with all", "[reference][softmax]") {
    Context few(cpu_device()), all(cpu_device());
    few.digits = 24;
    for (const Shape& shape : {Shape{3, 700}, Shape{2, 5, 7}, Shape{2, 4, 600}}) {
        const TensorPtr x = random(shape, 3), g = random(shape, 4);
        for (const bool logarithm : {false, true}) {
            CAPTURE(shape, logarithm);
            const auto forward = logarithm ? diopi::reference::diopiLogSoftmax : diopi::reference::diopiSoftmax;
            const auto backward =
                logarithm ? diopi::reference::diopiLogSoftmaxBackward : diopi::reference::diopiSoftmaxBackward;
            const TensorPtr y = make(shape), fast = make(shape), exact = make(shape);
            REQUIRE(forward(&all, y.get(), x.get(), 1) == diopiSuccess);
            REQUIRE(forward(&few, fast.get(), x.get(), 1) == diopiSuccess);
            check_close(fast, values_of(y), 1e-14);
            REQUIRE(backward(&all, exact.get(), g.get(), y.get(), 1) == diopiSuccess);
            REQUIRE(backward(&few, fast.get(), g.get(), y.get(), 1) == diopiSuccess);
            check_close(fast, values_of(exact), 1e-14);
        }
    }
}

TEST_CASE("exponentials of a block have the error bounds of each alone", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    Context few(cpu_device());
    few.digits = 24;
    // Blocks with small errors only, with large ones, and with both; results that may overflow.
    for (const double most : {1e-6, 0.02, 3.0}) {
        std::vector<Inexact> x;
        for (const double value : random_values(Exponentials::kBlock - 3, 6)) {
            x.emplace_back(100 * value, x.size() % 2 == 0 ? most : 1e-8);
        }
        std::vector<Inexact> y = x;
        Exponentials{few}(y.data(), std::ssize(y));
        for (size_t i = 0; i < x.size(); ++i) {
            const Inexact wanted = exp(x[i]);
            CAPTURE(most, x[i].value);
            CHECK_THAT(y[i].value, Catch::Matchers::WithinRel(wanted.value, 1e-14));
            CHECK((y[i].error == wanted.error || std::fabs(y[i].error / wanted.error - 1) < 1e-13));
        }
    }
}
