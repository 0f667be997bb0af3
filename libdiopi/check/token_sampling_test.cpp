#include "check/token_sampling.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "check/oracle.hpp"
#include "core/philox.hpp"

using namespace diopi;

namespace {

Tensor numbers(const Shape& shape, const std::vector<double>& values) {
    Tensor made = make_host_tensor(shape, Dtype::float64);
    REQUIRE(made.numel() == std::ssize(values));
    std::ranges::copy(values, made.data_as<double>());
    return made;
}

/// 800 sequences with four equal logits, whose tokens `draw` makes of a uniform number.
template <class Draw>
DistributionCheck check_draws(int64_t k, double p, const Draw& draw) {
    constexpr int64_t kBatch = 800;
    std::vector<double> ids;
    for (int64_t i = 0; i < kBatch; ++i) {
        ids.push_back(draw(unit_double(philox(7, static_cast<uint64_t>(i), 0)[0], 0)));
    }
    const auto all = [](double value) { return std::vector<double>(kBatch, value); };
    const Tensor logits = numbers({kBatch, 4}, std::vector<double>(4 * kBatch, 2)),
                 ks = numbers({kBatch}, all(double(k))), ps = numbers({kBatch}, all(p)),
                 before = numbers({1, kBatch}, all(9)), after = numbers({1, kBatch}, ids);
    return check_sampled_tokens({logits, &ks, nullptr, nullptr, 0, {&before, &after}, {}, {}, {&ps, &ps}, {}, {}});
}

/// One sequence with probabilities 1/4 and 3/4, that draws token 1.
struct OneStep {
    Tensor logits = numbers({1, 2}, {0, std::log(3.0)}), one = numbers({1}, {1}), none = numbers({1}, {0});
    Tensor ids[2] = {numbers({2, 1}, {8, 9}), numbers({2, 1}, {8, 1})};
    Tensor finished[2] = {numbers({1}, {0}), numbers({1}, {1})};
    Tensor lengths[2] = {numbers({1}, {5}), numbers({1}, {6})};
    Tensor sums[2] = {numbers({1}, {-2}), numbers({1}, {-2 + std::log(0.75)})};
    Tensor logs[2] = {numbers({1}, {7}), numbers({1}, {0})};
    const Tensor* skip = nullptr;

    [[nodiscard]] DistributionCheck run() const {
        return check_sampled_tokens({logits,
                                     &one,
                                     skip,
                                     &one,
                                     1,
                                     {&ids[0], &ids[1]},
                                     {&finished[0], &finished[1]},
                                     {&lengths[0], &lengths[1]},
                                     {&one, &one},
                                     {&sums[0], &sums[1]},
                                     {&logs[0], &logs[1]}});
    }
    [[nodiscard]] std::string reason() const {
        const DistributionCheck check = run();
        CHECK_FALSE(check.passed);
        return check.reason;
    }
};

void set(Tensor& tensor, double value) { tensor.data_as<double>()[tensor.numel() - 1] = value; }

}  // namespace

TEST_CASE("tokens that follow their probabilities up to the cut pass", "[check]") {
    const auto drawn = [](double p) { return [=](double u) { return std::floor(u * p * 4); }; };
    CHECK(check_draws(4, 1, drawn(1)).passed);
    CHECK(check_draws(4, 0.65, drawn(0.65)).passed);
    CHECK(check_draws(2, 0.9, [](double u) { return std::floor(u * 0.9 * 2); }).passed);
    CHECK(check_draws(1, 1, [](double) { return 0.0; }).agreement == 1);
}

TEST_CASE("a token beyond the top k, or beyond the cut, is found", "[check]") {
    CHECK_FALSE(check_draws(3, 1, [](double u) { return std::floor(u * 4); }).passed);
    CHECK_FALSE(check_draws(4, 0.5, [](double u) { return std::floor(u * 3); }).passed);
    CHECK_FALSE(check_draws(4, 1, [](double) { return 4.0; }).passed);
}

TEST_CASE("a cut before the token that crosses p is found by the frequencies", "[check]") {
    CHECK_FALSE(check_draws(4, 0.9, [](double u) { return std::floor(u * 3); }).passed);
    CHECK_FALSE(check_draws(4, 0.8, [](double u) { return std::floor(u * 4); }).passed);
    CHECK_FALSE(check_draws(4, 1, [](double) { return 2.0; }).passed);
}

TEST_CASE("what follows from a token is judged by that token", "[check]") {
    CHECK(OneStep().run().passed);
    OneStep step;
    set(step.finished[1], 0);
    CHECK(step.reason() == "sequence 0: finished is wrong");
    step = OneStep();
    set(step.lengths[1], 5);
    CHECK(step.reason() == "sequence 0: its length did not grow by 1");
    step = OneStep();
    set(step.sums[1], -2 + std::log(0.25));
    CHECK_THAT(step.reason(), Catch::Contains("cum_log_probs is"));
    step = OneStep();
    set(step.logs[1], std::log(0.75));
    CHECK_THAT(step.reason(), Catch::Contains("output_log_probs is"));
    step = OneStep();
    step.ids[1].data_as<double>()[0] = 1;
    CHECK(step.reason() == "sequence 0: a token of another step changed");
}

TEST_CASE("nothing changes of a skipped sequence, and a finished one gets its end", "[check]") {
    OneStep step;
    step.skip = &step.one;
    CHECK(step.reason() == "sequence 0: skipped, its token changed");
    set(step.ids[1], 9);
    CHECK(step.reason() == "sequence 0: finished changed");
    step = OneStep();
    set(step.finished[0], 1);
    CHECK(step.reason() == "sequence 0: its length changed");
    set(step.lengths[1], 5);
    CHECK(step.reason() == "sequence 0: cum_log_probs changed");
    set(step.sums[1], -2);
    CHECK(step.run().passed);
}
