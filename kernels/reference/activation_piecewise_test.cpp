#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("hardtanh limits to both bounds, of which the upper one wins", "[reference][activation]") {
    const TensorPtr x = tensor({5}, {-2, 0.25, 3, kNaN, kInf});
    const diopiScalar_t low = number(-0.5), high = number(2.0), lower = number(-1.0), none = number(kNaN);
    REQUIRE(reference::diopiHardtanhInp(context(), x.get(), &low, &high) == diopiSuccess);
    check_close(x, {-0.5, 0.25, 2, kNaN, 2});
    REQUIRE(reference::diopiHardtanhInp(context(), x.get(), &high, &lower) == diopiSuccess);
    check_close(x, {-1, -1, -1, kNaN, -1});
    REQUIRE(reference::diopiHardtanhInp(context(), x.get(), &low, &none) == diopiSuccess);
    check_close(x, {kNaN, kNaN, kNaN, kNaN, kNaN});
}

TEST_CASE("hardtanh cuts the fraction of a bound off for integers, and refuses bool", "[reference][activation]") {
    const TensorPtr x = tensor({4}, {-128, -4, 3, 100}, Dtype::int8);
    const diopiScalar_t low = number(-4.5), high = number(300.0);
    REQUIRE(reference::diopiHardtanhInp(context(), x.get(), &low, &high) == diopiSuccess);
    CHECK(values_of(x) == Values{-4, -4, 3, 100});
    const TensorPtr b = make({2}, Dtype::boolean);
    CHECK(reference::diopiHardtanhInp(context(), b.get(), &low, &high) == diopiDtypeNotSupported);
}

TEST_CASE("the gradient of hardswish is 0 at -3 and 1 from 3 on", "[reference][activation]") {
    const TensorPtr x = tensor({6}, {-4, -3, 0, 3, 4, kNaN}), g = tensor({6}, {1, 1, 1, 1, 1, 1}), gx = make({6});
    REQUIRE(reference::diopiHardswishBackward(context(), gx.get(), g.get(), x.get()) == diopiSuccess);
    check_close(gx, {0, 0, 0.5, 1, 1, kNaN});
}

TEST_CASE("leaky_relu takes the forward's result unless its slope is negative", "[reference][activation]") {
    const TensorPtr x = tensor({2}, {-2, 2}), g = tensor({2}, {3, 5}), gx = make({2});
    const diopiScalar_t slope = number(0.5), down = number(-0.5);
    const auto ctx = context();
    REQUIRE(reference::diopiLeakyReluBackward(ctx, gx.get(), g.get(), x.get(), &slope, true) == diopiSuccess);
    check_close(gx, {1.5, 5});
    CHECK(reference::diopiLeakyReluBackward(ctx, gx.get(), g.get(), x.get(), &down, true) == diopiErrorOccurred);
    CHECK(reference::diopiLeakyReluBackward(ctx, gx.get(), g.get(), x.get(), &down, false) == diopiSuccess);
    const TensorPtr whole = make({2}, Dtype::int32);
    CHECK(reference::diopiLeakyReluInp(ctx, whole.get(), &slope) == diopiDtypeNotSupported);
}

TEST_CASE("gradients of piecewise activations are their derivatives", "[reference][activation][gradient]") {
    const TensorPtr x = random({3, 5}, 1), y = make({3, 5}), gx = make({3, 5});
    const Values weights = random_values(15, 2);
    const TensorPtr g = tensor({3, 5}, weights);
    const auto ctx = context();
    const diopiScalar_t low = number(-0.4), high = number(0.3), slope = number(-0.2);
    const auto check = [&](const auto& forward, const auto& backward) {
        REQUIRE(backward() == diopiSuccess);
        check_gradient(x, gx, weights, [&] {
            REQUIRE(forward() == diopiSuccess);
            return values_of(y);
        });
    };
    check([&] { return reference::diopiHardtanh(ctx, y.get(), x.get(), &low, &high); },
          [&] { return reference::diopiHardtanhBackward(ctx, gx.get(), g.get(), x.get(), &low, &high); });
    check([&] { return reference::diopiHardswish(ctx, y.get(), x.get()); },
          [&] { return reference::diopiHardswishBackward(ctx, gx.get(), g.get(), x.get()); });
    check([&] { return reference::diopiLeakyRelu(ctx, y.get(), x.get(), &slope); },
          [&] { return reference::diopiLeakyReluBackward(ctx, gx.get(), g.get(), x.get(), &slope, false); });
}
