#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

constexpr int64_t kIgnored = 9;
constexpr diopiReduction_t kReductions[] = {ReductionNone, ReductionMean, ReductionSum};

TensorPtr classes(const Shape& shape, const Values& values) { return tensor(shape, values, Dtype::int64); }

Values nll(const TensorPtr& x, const TensorPtr& target, const TensorPtr& weight, diopiReduction_t reduction) {
    const TensorPtr y = make(reduction == ReductionNone ? target->shape : Shape{});
    REQUIRE(reference::diopiNLLLoss(context(), y.get(), x.get(), target.get(), weight.get(), reduction, kIgnored) ==
            diopiSuccess);
    const TensorPtr again = make(y->shape);
    const TensorPtr total = make({});
    REQUIRE(reference::diopiNLLLossV2(context(), again.get(), total.get(), x.get(), target.get(), weight.get(),
                                      reduction, kIgnored) == diopiSuccess);
    check_close(again, values_of(y));
    return values_of(y);
}

/// `out` is the shape of the loss without reduction.
Values entropy(const TensorPtr& x, const TensorPtr& target, const TensorPtr& weight, diopiReduction_t reduction,
               double smoothing, const Shape& out) {
    const TensorPtr y = make(reduction == ReductionNone ? out : Shape{});
    REQUIRE(reference::diopiCrossEntropyLoss(context(), y.get(), x.get(), target.get(), weight.get(), reduction,
                                             kIgnored, smoothing) == diopiSuccess);
    return values_of(y);
}

}  // namespace

TEST_CASE("nll_loss over positions, of one sample, of strided half tensors", "[reference][nll_loss]") {
    const TensorPtr x = tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}, Dtype::float16, {1, 3, 1});
    CHECK(nll(x, classes({1, 3}, {0, 1, 1}), nullptr, ReductionNone) == Values{-1, -5, -6});
    CHECK(nll(tensor({2}, {7, 8}), classes({}, {1}), nullptr, ReductionMean) == Values{-8});
    CHECK(nll(tensor({2}, {7, 8}), tensor({}, {1}, Dtype::int32), nullptr, ReductionMean) == Values{-8});
    check_close(nll(tensor({2}, {7, 8}), classes({}, {kIgnored}), nullptr, ReductionMean), {kNaN});
}

TEST_CASE("nll_loss of nothing", "[reference][nll_loss]") {
    check_close(nll(make({0, 3}), classes({0}, {}), nullptr, ReductionMean), {kNaN});
    check_close(nll(make({0, 3}), classes({0}, {}), make({3}), ReductionSum), {0});
    CHECK(nll(make({2, 0}), classes({2}, {kIgnored, kIgnored}), make({0}), ReductionNone) == Values{0, 0});
    check_close(nll(make({2, 0}), classes({2}, {kIgnored, kIgnored}), make({0}), ReductionMean), {kNaN});
}

TEST_CASE("nll_loss refuses classes, shapes and dtypes that contradict", "[reference][nll_loss]") {
    const auto call = [](const Shape& out, const TensorPtr& target, const TensorPtr& weight) {
        return reference::diopiNLLLoss(context(), make(out).get(), make({2, 3}).get(), target.get(), weight.get(),
                                       ReductionNone, kIgnored);
    };
    CHECK(call({2}, classes({2}, {0, 3}), nullptr) == diopiErrorOccurred);
    CHECK(last_error() == "target holds 3, wanted a class below 3 or ignore_index 9");
    CHECK(call({2}, classes({3}, {0, 1, 2}), nullptr) == diopiErrorOccurred);
    CHECK(call({}, classes({2}, {0, 1}), nullptr) == diopiErrorOccurred);
    CHECK(call({2}, classes({2}, {0, 1}), make({2})) == diopiErrorOccurred);
    CHECK(call({2}, tensor({2}, {0, 1}), nullptr) == diopiDtypeNotSupported);
}

TEST_CASE("nll_loss backward is the derivative of nll_loss", "[reference][nll_loss][gradient]") {
    struct Row {
        Shape input, target;
        Values classes;
    };
    for (const Row& row :
         {Row{{4, 3}, {4}, {2, 0, kIgnored, 2}}, Row{{2, 3, 2}, {2, 2}, {1, kIgnored, 0, 2}}, Row{{3}, {}, {1}}}) {
        for (const diopiReduction_t reduction : kReductions) {
            for (const bool weighted : {false, true}) {
                const TensorPtr x = random(row.input, 1);
                const TensorPtr target = classes(row.target, row.classes);
                const TensorPtr weight = weighted ? tensor({3}, {0.5, 2, 1}) : nullptr;
                const Shape out = reduction == ReductionNone ? row.target : Shape{};
                const Values weights = random_values(numel(out), 2);
                const TensorPtr g = tensor(out, weights);
                const TensorPtr gx = make(row.input);
                const auto run = [&] { return nll(x, target, weight, reduction); };
                REQUIRE(reference::diopiNLLLossBackward(context(), gx.get(), g.get(), x.get(), target.get(),
                                                        weight.get(), reduction, kIgnored) == diopiSuccess);
                check_gradient(x, gx, weights, run);
                const TensorPtr total = make({});
                REQUIRE(reference::diopiNLLLossV2(context(), make(out).get(), total.get(), x.get(), target.get(),
                                                  weight.get(), reduction, kIgnored) == diopiSuccess);
                const TensorPtr gx2 = make(row.input);
                REQUIRE(reference::diopiNLLLossV2Backward(context(), gx2.get(), g.get(), x.get(), target.get(),
                                                          weight.get(), total.get(), reduction,
                                                          kIgnored) == diopiSuccess);
                check_gradient(x, gx2, weights, run);
            }
        }
    }
    const TensorPtr gx = make({1, 2});
    REQUIRE(reference::diopiNLLLossBackward(context(), gx.get(), tensor({}, {1}).get(), make({1, 2}).get(),
                                            classes({1}, {kIgnored}).get(), nullptr, ReductionMean,
                                            kIgnored) == diopiSuccess);
    check_close(gx, {0, 0});
}

TEST_CASE("cross_entropy of nothing, with NaN, and with a label smoothing beyond 0 and 1",
          "[reference][cross_entropy]") {
    check_close(entropy(make({0, 5}), classes({0}, {}), nullptr, ReductionMean, 0.3, {0}), {kNaN});
    check_close(entropy(make({0, 5}), classes({0}, {}), nullptr, ReductionSum, 0, {0}), {0});
    check_close(entropy(make({2, 0}), make({2, 0}), make({0}), ReductionMean, 0.5, {2}), {kNaN});
    CHECK(entropy(make({2, 0}), make({2, 0}), make({0}), ReductionNone, 0.5, {2}) == Values{0, 0});
    check_close(entropy(tensor({2, 2}, {kNaN, 0, 5, 5}), classes({2}, {1, 1}), nullptr, ReductionNone, 0, {2}),
                {kNaN, std::log(2.0)});
    check_close(entropy(tensor({1, 2}, {5, 5}), classes({1}, {1}), nullptr, ReductionNone, -1.3, {1}), {std::log(2.0)});
    CHECK(reference::diopiCrossEntropyLoss(context(), make({}).get(), make({2, 2}).get(), classes({2}, {0, 0}).get(),
                                           nullptr, ReductionSum, kIgnored, 1.5) == diopiErrorOccurred);
}

TEST_CASE("cross_entropy backward is the derivative of cross_entropy", "[reference][cross_entropy][gradient]") {
    struct Row {
        Shape input;
        TensorPtr target;
        Shape out;
    };
    const Row rows[] = {{{4, 3}, classes({4}, {2, 0, kIgnored, 2}), {4}},
                        {{2, 3, 2}, classes({2, 2}, {1, kIgnored, 0, 2}), {2, 2}},
                        {{3}, classes({}, {1}), {}},
                        {{4, 3}, random({4, 3}, 9), {4}},
                        {{2, 3, 2}, random({2, 3, 2}, 9), {2, 2}}};
    for (const Row& row : rows) {
        for (const diopiReduction_t reduction : kReductions) {
            for (const double smoothing : {-1.0, 0.0, 0.3, 1.0}) {
                for (const bool weighted : {false, true}) {
                    const TensorPtr x = random(row.input, 1);
                    const TensorPtr weight = weighted ? tensor({3}, {0.5, 2, 1}) : nullptr;
                    const Shape out = reduction == ReductionNone ? row.out : Shape{};
                    const Values weights = random_values(numel(out), 2);
                    const TensorPtr gx = make(row.input);
                    REQUIRE(reference::diopiCrossEntropyLossBackward(context(), gx.get(), tensor(out, weights).get(),
                                                                     x.get(), row.target.get(), weight.get(), reduction,
                                                                     kIgnored, smoothing) == diopiSuccess);
                    check_gradient(x, gx, weights,
                                   [&] { return entropy(x, row.target, weight, reduction, smoothing, row.out); });
                }
            }
        }
    }
}
