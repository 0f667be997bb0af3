#include "kernels/reference/vector_math.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

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
    const std::vector<std::function<Unary>> functions = {diopi::reference::diopiSigmoid,
                                                         diopi::reference::diopiSilu,
                                                         diopi::reference::diopiExp,
                                                         diopi::reference::diopiTan,
                                                         gelu("none"),
                                                         gelu("tanh")};
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
