#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

const diopiReduction_t kReductions[] = {ReductionNone, ReductionMean, ReductionSum};

struct LossSetup {
    Shape input, target;
    int64_t ignore_index;

    size_t class_dim() const { return input.size() == 1 ? 0 : 1; }
    size_t classes() const { return static_cast<size_t>(input[class_dim()]); }
    size_t inner() const {
        size_t n = 1;
        for (size_t d = class_dim() + 1; d < input.size(); ++d) n *= static_cast<size_t>(input[d]);
        return n;
    }
    size_t samples() const { return static_cast<size_t>(numel(target)); }
    size_t at(size_t sample, size_t c) const { return (sample / inner() * classes() + c) * inner() + sample % inner(); }
    Values targets() const {
        Values t(samples());
        for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<double>((i * 7 + 3) % classes());
        if (ignore_index == -100 && t.size() > 2) t[1] = -100;
        return t;
    }
    Shape out(diopiReduction_t reduction) const { return reduction == ReductionNone ? target : Shape{}; }
};

const LossSetup kLosses[] = {{{10}, {}, -100},
                             {{20, 9}, {20}, 3},
                             {{2, 12, 9}, {2, 9}, -100},
                             {{2, 5, 3, 4, 2}, {2, 3, 4, 2}, 0},
                             {{30, 4}, {30}, 77}};

Values log_softmax(const LossSetup& s, const Values& x) {
    Values out(x.size());
    for (size_t i = 0; i < s.samples(); ++i) {
        double sum = 0;
        for (size_t c = 0; c < s.classes(); ++c) sum += std::exp(x[s.at(i, c)]);
        for (size_t c = 0; c < s.classes(); ++c) out[s.at(i, c)] = x[s.at(i, c)] - std::log(sum);
    }
    return out;
}

/// Target of the loss as weights q of the log probabilities: loss = -sum(q * log p), and what a mean divides by.
struct Target {
    Values q;
    double divisor = 0;
};

Target class_target(const LossSetup& s, const Values& t, const Values& w, double smoothing) {
    Target out{Values(static_cast<size_t>(numel(s.input))), 0};
    for (size_t i = 0; i < s.samples(); ++i) {
        if (t[i] == static_cast<double>(s.ignore_index)) continue;
        const auto hit = static_cast<size_t>(t[i]);
        out.divisor += w[hit];
        for (size_t c = 0; c < s.classes(); ++c) {
            out.q[s.at(i, c)] = w[c] * (smoothing / static_cast<double>(s.classes()) + (c == hit ? 1 - smoothing : 0));
        }
    }
    return out;
}

Target probability_target(const LossSetup& s, const Values& p, const Values& w, double smoothing) {
    Target out{Values(p.size()), static_cast<double>(s.samples())};
    for (size_t i = 0; i < s.samples(); ++i) {
        for (size_t c = 0; c < s.classes(); ++c) {
            const size_t at = s.at(i, c);
            out.q[at] = w[c] * (p[at] * (1 - smoothing) + smoothing / static_cast<double>(s.classes()));
        }
    }
    return out;
}

Values reduced(const LossSetup& s, const Target& target, const Values& logs, diopiReduction_t reduction) {
    Values each(s.samples());
    double sum = 0;
    for (size_t i = 0; i < s.samples(); ++i) {
        for (size_t c = 0; c < s.classes(); ++c) each[i] -= target.q[s.at(i, c)] * logs[s.at(i, c)];
        sum += each[i];
    }
    if (reduction == ReductionNone) return each;
    return {reduction == ReductionMean ? sum / target.divisor : sum};
}

/// d(loss)/d(logs), or through the logarithm of softmax too.
Values gradient(const LossSetup& s, const Target& target, const Values& logs, const Values& g,
                diopiReduction_t reduction, bool through_softmax) {
    Values grad(logs.size());
    for (size_t i = 0; i < s.samples(); ++i) {
        const double scale = g[reduction == ReductionNone ? i : 0] / (reduction == ReductionMean ? target.divisor : 1);
        double all = 0;
        for (size_t c = 0; c < s.classes(); ++c) all += target.q[s.at(i, c)];
        for (size_t c = 0; c < s.classes(); ++c) {
            const size_t at = s.at(i, c);
            grad[at] = scale * ((through_softmax ? std::exp(logs[at]) * all : 0) - target.q[at]);
        }
    }
    return grad;
}

}  // namespace

TEST_CASE("negative log likelihood, its total weight and its gradients") {
    const LossSetup& s = kLosses[GENERATE(range(size_t{0}, std::size(kLosses)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const diopiReduction_t reduction = kReductions[GENERATE(range(0, 3))];
    const bool weighted = GENERATE(false, true), strided = GENERATE(false, true);
    const auto x = random(s.input, dtype, 1, strided ? scattered(s.input) : Shape{});
    const Dtype index = GENERATE(Dtype::int64, Dtype::int32);
    const auto t = tensor(s.target, index, s.targets(), strided ? scattered(s.target) : Shape{});
    Values weights(s.classes(), 1.0);
    for (size_t c = 0; weighted && c < weights.size(); ++c) weights[c] = 0.25 + 0.5 * static_cast<double>(c % 5);
    const auto w = tensor({static_cast<int64_t>(s.classes())}, dtype, weights);
    const diopiConstTensorHandle_t weight = weighted ? w.get() : nullptr;
    const Target target = class_target(s, s.targets(), weights, 0);
    const auto out = unwritten(s.out(reduction), dtype), out2 = unwritten(s.out(reduction), dtype);
    const auto total = unwritten({}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), weight, reduction, s.ignore_index) == diopiSuccess);
    REQUIRE(cpu::diopiNLLLossV2(&ctx, out2.get(), total.get(), x.get(), t.get(), weight, reduction, s.ignore_index) ==
            diopiSuccess);
    const Values expected = reduced(s, target, values(*x), reduction);
    check_close(*out, expected, 8, 16);
    check_close(*out2, expected, 8, 16);
    check_close(*total, {target.divisor});
    const auto g = random(s.out(reduction), dtype, 5);
    const auto gx = unwritten(s.input, dtype, strided ? scattered(s.input) : Shape{}), gx2 = unwritten(s.input, dtype);
    REQUIRE(cpu::diopiNLLLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), weight, reduction, s.ignore_index) ==
            diopiSuccess);
    const auto exact = tensor({}, Dtype::float64, {target.divisor});
    REQUIRE(cpu::diopiNLLLossV2Backward(&ctx, gx2.get(), g.get(), x.get(), t.get(), weight, exact.get(), reduction,
                                        s.ignore_index) == diopiSuccess);
    const Values grad = gradient(s, target, values(*x), values(*g), reduction, false);
    check_close(*gx, grad);
    check_close(*gx2, grad);
}

TEST_CASE("cross entropy with classes or probabilities as targets, weights and label smoothing") {
    const LossSetup& s = kLosses[GENERATE(range(size_t{0}, std::size(kLosses)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const diopiReduction_t reduction = kReductions[GENERATE(range(0, 3))];
    const bool weighted = GENERATE(false, true), probable = GENERATE(false, true);
    const double smoothing = GENERATE(0.0, 0.3, 1.0, -1.3);
    const auto x = random(s.input, dtype, 1, probable ? scattered(s.input) : Shape{});
    Values shares = values(*random(s.input, dtype, 2));
    for (double& p : shares) p = std::abs(p) / 2;
    const Dtype index = GENERATE(Dtype::int64, Dtype::int32);
    const auto t = probable ? tensor(s.input, dtype, shares) : tensor(s.target, index, s.targets());
    Values weights(s.classes(), 1.0);
    for (size_t c = 0; weighted && c < weights.size(); ++c) weights[c] = 0.25 + 0.5 * static_cast<double>(c % 5);
    const auto w = tensor({static_cast<int64_t>(s.classes())}, dtype, weights);
    const diopiConstTensorHandle_t weight = weighted ? w.get() : nullptr;
    const double used = std::max(smoothing, 0.0);
    const Target target =
        probable ? probability_target(s, shares, weights, used) : class_target(s, s.targets(), weights, used);
    const Values logs = log_softmax(s, values(*x));
    const auto out = unwritten(s.out(reduction), dtype), gx = unwritten(s.input, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), t.get(), weight, reduction, s.ignore_index,
                                       smoothing) == diopiSuccess);
    check_close(*out, reduced(s, target, logs, reduction), 64, 64);
    const auto g = random(s.out(reduction), dtype, 5);
    REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), weight, reduction,
                                               s.ignore_index, smoothing) == diopiSuccess);
    check_close(*gx, gradient(s, target, logs, values(*g), reduction, true), 16, 16);
}

TEST_CASE("the mean of no targets is NaN, their sum 0, and their gradients 0") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto [input, targets] = GENERATE(table<Shape, Shape>({{{3, 4}, {3}}, {{4, 0}, {4}}, {{0, 4}, {0}}}));
    const auto x = random(input, dtype, 1);
    const auto t = tensor(targets, Dtype::int64, Values(static_cast<size_t>(numel(targets)), 0.0));
    const auto mean = unwritten({}, dtype), sum = unwritten({}, dtype), total = unwritten({}, dtype);
    const auto gx = unwritten(input, dtype), g = tensor({}, dtype, {1});
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiNLLLossV2(&ctx, mean.get(), total.get(), x.get(), t.get(), nullptr, ReductionMean, 0) ==
            diopiSuccess);
    CHECK(std::isnan(values(*mean)[0]));
    CHECK(values(*total) == Values{0});
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, mean.get(), x.get(), t.get(), nullptr, ReductionMean, 0, 0.2) ==
            diopiSuccess);
    CHECK(std::isnan(values(*mean)[0]));
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, sum.get(), x.get(), t.get(), nullptr, ReductionSum, 0, 0.2) ==
            diopiSuccess);
    CHECK(values(*sum) == Values{0});
    REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionMean, 0,
                                               0.2) == diopiSuccess);
    CHECK(values(*gx) == Values(static_cast<size_t>(numel(input)), 0.0));
}

TEST_CASE("probabilities over no classes have a mean of NaN") {
    const auto x = random({3, 0}, Dtype::float32, 1), out = unwritten({}, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), x.get(), nullptr, ReductionMean, -100, 0.1) ==
            diopiSuccess);
    CHECK(std::isnan(values(*out)[0]));
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), x.get(), nullptr, ReductionSum, -100, 0.1) ==
            diopiSuccess);
    CHECK(values(*out) == Values{0});
}

TEST_CASE("a target that is no class is refused with its number") {
    const auto x = random({3, 4}, Dtype::float32, 1), gx = unwritten({3, 4}, Dtype::float32);
    const auto out = unwritten({}, Dtype::float32), g = tensor({}, Dtype::float32, {1});
    const double wild = GENERATE(4.0, -1.0);
    const auto t = tensor({3}, Dtype::int64, {0, wild, 2});
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionMean, -100) == diopiErrorOccurred);
    CHECK(last_error().find("target holds class " + std::to_string(static_cast<int>(wild))) != std::string::npos);
    CHECK(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionSum, -100, 0) ==
          diopiErrorOccurred);
    CHECK(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionSum, -100,
                                             0) == diopiErrorOccurred);
    const auto wide = random({5}, Dtype::float32, 1);
    CHECK(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), wide.get(), ReductionMean, -100) == diopiErrorOccurred);
}
