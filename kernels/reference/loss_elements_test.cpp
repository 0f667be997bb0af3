#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("losses of each element by hand", "[reference][loss]") {
    const TensorPtr x = tensor({2}, {1, -2}), t = tensor({2}, {0.5, 1}), y = make({2}), one = make({});
    const auto ctx = context();
    REQUIRE(reference::diopiMSELoss(ctx, y.get(), x.get(), t.get(), ReductionNone) == diopiSuccess);
    check_close(y, {0.25, 9});
    REQUIRE(reference::diopiMSELoss(ctx, one.get(), x.get(), t.get(), ReductionMean) == diopiSuccess);
    check_close(one, {4.625});
    REQUIRE(reference::diopiSmoothL1Loss(ctx, y.get(), x.get(), t.get(), ReductionNone, 2) == diopiSuccess);
    check_close(y, {0.0625, 2});
    REQUIRE(reference::diopiSmoothL1Loss(ctx, one.get(), x.get(), t.get(), ReductionSum, 0) == diopiSuccess);
    check_close(one, {3.5});
    CHECK(reference::diopiSmoothL1Loss(ctx, one.get(), x.get(), t.get(), ReductionSum, -1) == diopiErrorOccurred);
}

TEST_CASE("the logarithms of binary cross entropy are cut at -100", "[reference][loss]") {
    const TensorPtr x = tensor({3}, {0, 1, 0.5}), t = tensor({3}, {1, 0, 1}), y = make({3});
    const TensorPtr w = tensor({}, {2}, Dtype::int32);
    REQUIRE(reference::diopiBCELoss(context(), y.get(), x.get(), t.get(), w.get(), ReductionNone) == diopiSuccess);
    check_close(y, {200, 200, 2 * std::log(2.0)});
}

TEST_CASE("a mean over no elements is NaN, and a sum is 0", "[reference][loss]") {
    const TensorPtr x = make({0, 3}), one = make({});
    REQUIRE(reference::diopiMSELoss(context(), one.get(), x.get(), x.get(), ReductionMean) == diopiSuccess);
    check_close(one, {kNaN});
    REQUIRE(reference::diopiMSELoss(context(), one.get(), x.get(), x.get(), ReductionSum) == diopiSuccess);
    check_close(one, {0});
}

TEST_CASE("losses refuse shapes that do not fit", "[reference][loss]") {
    const TensorPtr x = make({2, 3}), row = make({3}), long_row = make({4}), one = make({});
    const auto ctx = context();
    CHECK(reference::diopiMSELoss(ctx, one.get(), x.get(), row.get(), ReductionSum) == diopiErrorOccurred);
    CHECK(reference::diopiMSELoss(ctx, x.get(), x.get(), x.get(), ReductionSum) == diopiErrorOccurred);
    CHECK(reference::diopiBCELoss(ctx, one.get(), x.get(), x.get(), long_row.get(), ReductionSum) ==
          diopiErrorOccurred);
    CHECK(reference::diopiBCELoss(ctx, one.get(), x.get(), x.get(), row.get(), ReductionSum) == diopiSuccess);
    CHECK(reference::diopiMSELoss(ctx, one.get(), x.get(), x.get(), static_cast<diopiReduction_t>(7)) ==
          diopiErrorOccurred);
}

TEST_CASE("gradients of the losses of each element are their derivatives", "[reference][loss][gradient]") {
    const TensorPtr x = random({3, 4}, 1), t = random({3, 4}, 2), gx = make({3, 4}), w = tensor({4}, {0.5, 1, 2, 3});
    const TensorPtr p = tensor({3, 1}, {1, 3, 0.25});
    const auto ctx = context();
    for (const diopiReduction_t reduction : {ReductionNone, ReductionMean, ReductionSum}) {
        const bool none = reduction == ReductionNone;
        const TensorPtr y = none ? make({3, 4}) : make({});
        const Values weights = random_values(none ? 12 : 1, 3);
        const TensorPtr g = none ? tensor({3, 4}, weights) : tensor({}, weights);
        const auto check = [&](const TensorPtr& input, const auto& forward, const auto& backward) {
            REQUIRE(backward() == diopiSuccess);
            check_gradient(input, gx, weights, [&] {
                REQUIRE(forward() == diopiSuccess);
                return values_of(y);
            });
        };
        check(
            x, [&] { return reference::diopiMSELoss(ctx, y.get(), x.get(), t.get(), reduction); },
            [&] { return reference::diopiMSELossBackward(ctx, gx.get(), g.get(), x.get(), t.get(), reduction); });
        check(
            x, [&] { return reference::diopiSmoothL1Loss(ctx, y.get(), x.get(), t.get(), reduction, 0.7); },
            [&] {
                return reference::diopiSmoothL1LossBackward(ctx, gx.get(), g.get(), x.get(), t.get(), reduction, 0.7);
            });
        check(
            x,
            [&] { return reference::diopiBCEWithLogits(ctx, y.get(), x.get(), t.get(), w.get(), p.get(), reduction); },
            [&] {
                return reference::diopiBCEWithLogitsBackward(ctx, gx.get(), g.get(), x.get(), t.get(), w.get(), p.get(),
                                                             reduction);
            });
        Values shares = random_values(12, 4);
        for (double& share : shares) share = 0.5 + 0.4 * std::tanh(share);
        const TensorPtr s = tensor({3, 4}, shares);
        check(
            s, [&] { return reference::diopiBCELoss(ctx, y.get(), s.get(), t.get(), w.get(), reduction); },
            [&] {
                return reference::diopiBCELossBackward(ctx, gx.get(), g.get(), s.get(), t.get(), w.get(), reduction);
            });
        for (const float alpha : {0.25F, -1.0F}) {
            for (const float gamma : {0.0F, 0.5F, 2.0F}) {
                check(
                    x,
                    [&] {
                        return reference::diopiSigmoidFocalLoss(ctx, y.get(), x.get(), s.get(), alpha, gamma,
                                                                reduction);
                    },
                    [&] {
                        return reference::diopiSigmoidFocalLossBackward(ctx, g.get(), x.get(), s.get(), gx.get(), gamma,
                                                                        alpha, reduction);
                    });
            }
        }
    }
}
