#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// The labels of an alignment of classes: it loses its repetitions, then its blanks (class 0).
std::vector<int64_t> labels_of(const std::vector<int64_t>& alignment) {
    std::vector<int64_t> labels;
    for (size_t t = 0; t < alignment.size(); ++t) {
        if (alignment[t] != 0 && (t == 0 || alignment[t] != alignment[t - 1])) labels.push_back(alignment[t]);
    }
    return labels;
}

/// -log of the sum of the probabilities of all alignments that read as `labels`.
double loss_by_enumeration(const Values& log_probs, int64_t steps, int64_t classes,
                           const std::vector<int64_t>& labels) {
    double sum = 0;
    const auto count = static_cast<int64_t>(std::pow(classes, steps));
    for (int64_t code = 0; code < count; ++code) {
        std::vector<int64_t> alignment;
        double log_probability = 0;
        int64_t rest = code;
        for (int64_t t = 0; t < steps; ++t, rest /= classes) {
            alignment.push_back(rest % classes);
            log_probability += log_probs[static_cast<size_t>(t * classes + alignment.back())];
        }
        if (labels_of(alignment) == labels) sum += std::exp(log_probability);
    }
    return -std::log(sum);
}

/// Two samples of 4 steps and 3 classes.
struct Calls {
    TensorPtr x = random({4, 2, 3}, 1), lp = make({4, 2, 3}), alpha = make({2, 4, 5}), losses = make({2});
    TensorPtr targets = tensor({3}, {1, 1, 2}, Dtype::int64), lengths = tensor({2}, {2, 1}, Dtype::int64);
    TensorPtr steps = tensor({2}, {4, 3}, Dtype::int64);

    void run(const TensorPtr& y, diopiReduction_t reduction, bool zero_infinity = false) const {
        REQUIRE(reference::diopiLogSoftmax(context(), lp.get(), x.get(), 2) == diopiSuccess);
        REQUIRE(reference::diopiCTCLoss(context(), y.get(), losses.get(), alpha.get(), lp.get(), targets.get(),
                                        steps.get(), lengths.get(), 0, reduction, zero_infinity) == diopiSuccess);
    }
    [[nodiscard]] Values sample(size_t n) const {
        const Values all = values_of(lp);
        Values own;
        for (size_t t = 0; t < 4; ++t) own.insert(own.end(), &all[(t * 2 + n) * 3], &all[(t * 2 + n) * 3] + 3);
        return own;
    }
};

}  // namespace

TEST_CASE("ctc_loss is the sum over all alignments", "[reference][loss]") {
    const Calls calls;
    const TensorPtr y = make({2}), one = make({});
    calls.run(y, ReductionNone);
    const double first = loss_by_enumeration(calls.sample(0), 4, 3, {1, 1});
    const double second = loss_by_enumeration(calls.sample(1), 3, 3, {2});
    check_close(y, {first, second});
    calls.run(one, ReductionSum);
    check_close(one, {first + second});
    calls.run(one, ReductionMean);
    check_close(one, {(first / 2 + second) / 2});
}

TEST_CASE("ctc_loss of labels that do not fit into the steps is infinite, or 0 on request", "[reference][loss]") {
    Calls calls;
    calls.steps = tensor({2}, {2, 0}, Dtype::int64);  // the equal labels need a blank between them
    const TensorPtr y = make({2});
    calls.run(y, ReductionNone);
    check_close(y, {kInf, kInf});
    calls.run(y, ReductionNone, true);
    check_close(y, {0, 0});
    check_close(calls.losses, {kInf, kInf});
}

TEST_CASE("ctc_loss refuses numbers that are no classes and no lengths", "[reference][loss]") {
    Calls calls;
    const TensorPtr y = make({2});
    const auto loss = [&](int64_t blank) {
        return reference::diopiCTCLoss(context(), y.get(), calls.losses.get(), calls.alpha.get(), calls.lp.get(),
                                       calls.targets.get(), calls.steps.get(), calls.lengths.get(), blank,
                                       ReductionNone, false);
    };
    CHECK(loss(3) == diopiErrorOccurred);
    calls.targets = tensor({3}, {1, 3, 2}, Dtype::int64);
    CHECK(loss(0) == diopiErrorOccurred);
    calls.targets = tensor({2}, {1, 2}, Dtype::int64);
    CHECK(loss(0) == diopiErrorOccurred);
    calls.steps = tensor({2}, {5, 1}, Dtype::int64);
    CHECK(loss(0) == diopiErrorOccurred);
}

TEST_CASE("the gradient of ctc_loss is that of the logits", "[reference][loss][gradient]") {
    const Calls calls;
    const TensorPtr gx = make({4, 2, 3});
    for (const diopiReduction_t reduction : {ReductionNone, ReductionMean, ReductionSum}) {
        const bool none = reduction == ReductionNone;
        const TensorPtr y = none ? make({2}) : make({});
        const Values weights = random_values(none ? 2 : 1, 3);
        const TensorPtr g = none ? tensor({2}, weights) : tensor({}, weights);
        calls.run(y, reduction);
        REQUIRE(reference::diopiCTCLossBackward(context(), gx.get(), g.get(), calls.lp.get(), calls.targets.get(),
                                                calls.steps.get(), calls.lengths.get(), calls.losses.get(),
                                                calls.alpha.get(), 0, reduction, false) == diopiSuccess);
        check_gradient(calls.x, gx, weights, [&] {
            calls.run(y, reduction);
            return values_of(y);
        });
    }
}
