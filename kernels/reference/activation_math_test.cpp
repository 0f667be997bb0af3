#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("gelu is accurate far below 0, and has two forms", "[reference][activation]") {
    const TensorPtr x = tensor({3}, {0, 1, -10});
    const TensorPtr y = make({3});
    REQUIRE(reference::diopiGelu(context(), y.get(), x.get(), "none") == diopiSuccess);
    check_close(y, {0, 0.8413447460685429, -7.619853024160526e-23});
    CHECK(std::fabs(values_of(y)[2] / -7.619853024160526e-23 - 1) < 1e-10);
    REQUIRE(reference::diopiGelu(context(), y.get(), x.get(), "tanh") == diopiSuccess);
    CHECK(std::fabs(values_of(y)[1] - 0.8411919906082768) < 1e-12);
    CHECK(reference::diopiGelu(context(), y.get(), x.get(), "erf") == diopiErrorOccurred);
    CHECK(last_error() == "approximate is 'erf', wanted 'none' or 'tanh'");
    CHECK(reference::diopiGelu(context(), make({2}).get(), x.get(), "none") == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (2,), wanted (3,)");
}

TEST_CASE("sigmoid and silu have denormal results far below 0", "[reference][activation]") {
    const TensorPtr x = tensor({1}, {-738});
    const TensorPtr y = make({1});
    // e^-738 and -738 e^-738 by mpmath with 60 digits.
    REQUIRE(reference::diopiSigmoid(context(), y.get(), x.get()) == diopiSuccess);
    CHECK(std::fabs(values_of(y)[0] - 3.0950833e-321) <= 4.95e-324);
    REQUIRE(reference::diopiSilu(context(), y.get(), x.get()) == diopiSuccess);
    CHECK(std::fabs(values_of(y)[0] + 2.2841715e-318) <= 4.95e-324);
}

TEST_CASE("the activations' gradients are their derivatives", "[reference][activation][gradient]") {
    const TensorPtr x = random({3, 5}, 1);
    const Values weights = random_values(15, 2);
    const TensorPtr g = tensor({3, 5}, weights);
    const TensorPtr y = make({3, 5});
    const TensorPtr gx = make({3, 5});
    const auto check = [&](const auto& forward, const auto& backward) {
        REQUIRE(forward() == diopiSuccess);
        REQUIRE(backward() == diopiSuccess);
        check_gradient(x, gx, weights, [&] {
            REQUIRE(forward() == diopiSuccess);
            return values_of(y);
        });
    };
    const auto ctx = context();
    check([&] { return reference::diopiSigmoid(ctx, y.get(), x.get()); },
          [&] { return reference::diopiSigmoidBackward(ctx, gx.get(), g.get(), y.get()); });
    check([&] { return reference::diopiTanh(ctx, y.get(), x.get()); },
          [&] { return reference::diopiTanhBackward(ctx, gx.get(), g.get(), y.get()); });
    check([&] { return reference::diopiSilu(ctx, y.get(), x.get()); },
          [&] { return reference::diopiSiluBackward(ctx, gx.get(), g.get(), x.get()); });
    for (const char* form : {"none", "tanh"}) {
        check([&] { return reference::diopiGelu(ctx, y.get(), x.get(), form); },
              [&] { return reference::diopiGeluBackward(ctx, gx.get(), g.get(), x.get(), form); });
    }
    const diopiScalar_t limit = number(0.1);
    const diopiScalar_t value = number(-3.0);
    check([&] { return reference::diopiThreshold(ctx, y.get(), x.get(), &limit, &value); },
          [&] { return reference::diopiThresholdBackward(ctx, gx.get(), g.get(), x.get(), &limit); });
}
