#include "check/statistics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace diopi;

namespace {

constexpr int kPasses = 5;

/// Samples of a call on a busy machine: passes differ by 0.6%, samples by 2%, and one in 30 is interrupted.
class BusyMachine {
 public:
    explicit BusyMachine(uint64_t seed) : random_(seed) {}

    Passes measure(double seconds, int passes = kPasses, int samples = 20) {
        Passes made;
        for (int p = 0; p < passes; ++p) {
            const double noise = std::exp(0.006 * normal_(random_));
            std::vector<double>& pass = made.emplace_back();
            for (int i = 0; i < samples; ++i) {
                const double jitter = std::exp(0.02 * std::abs(normal_(random_)));
                const double interruption = uniform_(random_) < 1.0 / 30 ? 1 + uniform_(random_) : 1;
                pass.push_back(seconds * noise * jitter * interruption);
            }
        }
        return made;
    }

    std::vector<SpeedPair> runs(int calls, int passes = kPasses) {
        std::vector<SpeedPair> pairs;
        for (int i = 0; i < calls; ++i) {
            const double seconds = 1e-6 * (i + 1);
            pairs.push_back({measure(seconds, passes), measure(seconds, passes)});
        }
        return pairs;
    }

 private:
    std::mt19937_64 random_;
    std::normal_distribution<double> normal_;
    std::uniform_real_distribution<double> uniform_;
};

bool is_change(const SpeedComparison& c) {
    return c.verdict == SpeedVerdict::kSlower || c.verdict == SpeedVerdict::kFaster;
}

void slow_down(Passes& passes, double factor) {
    for (auto& pass : passes) {
        for (double& sample : pass) sample *= factor;
    }
}

int64_t changes(const std::vector<SpeedPair>& pairs, const SpeedOptions& options = {}) {
    const auto comparisons = compare_speed(pairs, options);
    return std::ranges::count_if(comparisons, is_change);
}

}  // namespace

TEST_CASE("order statistics do not depend on the order of samples") {
    const Summary summary = summarize({5, 1, 4, 2, 3});
    CHECK(summary.min == 1);
    CHECK(summary.q1 == 2);
    CHECK(summary.median == 3);
    CHECK(summary.q3 == 4);
    CHECK(summary.low == 1);
    CHECK(summary.high == 5);
    CHECK(summary.samples == 5);
    CHECK(summary.discarded == 0);
    CHECK(summary.half_width() == Approx(2.0 / 3));
    CHECK(summarize({}) == Summary());
    CHECK(summarize({7}).median == 7);
}

TEST_CASE("the interval of the median contains the true median in about 95 of 100 experiments") {
    std::mt19937_64 random(3);
    std::exponential_distribution<double> waiting(1);
    int held = 0;
    for (int experiment = 0; experiment < 1000; ++experiment) {
        std::vector<double> samples(41);
        for (double& sample : samples) sample = waiting(random);
        const Summary summary = summarize(samples);
        if (summary.low <= std::log(2.0) && std::log(2.0) <= summary.high) ++held;
    }
    CHECK(held >= 935);
    CHECK(held <= 985);
}

TEST_CASE("outliers are discarded and counted") {
    std::vector<double> samples(40);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = 100 + static_cast<double>(i % 4);
    samples[7] = 900;
    samples[21] = 5000;
    const Summary summary = summarize(samples);
    CHECK(summary.discarded == 2);
    CHECK(summary.samples == 38);
    CHECK(summary.q3 < 104);
}

TEST_CASE("a plateau is an interval that no longer shrinks while samples double") {
    PlateauWatch shrinking, flat;
    for (size_t n = 20; n <= 5120; n *= 2) {
        CHECK_FALSE(shrinking.stalled(n, 0.1 / std::sqrt(static_cast<double>(n))));
    }
    CHECK_FALSE(flat.stalled(20, 0.03));
    CHECK_FALSE(flat.stalled(30, 0.03));
    CHECK_FALSE(flat.stalled(40, 0.03));
    CHECK(flat.stalled(80, 0.03));
}

TEST_CASE("Student's t agrees with tables") {
    CHECK(student_p(12.706, 1) == Approx(0.05).epsilon(1e-3));
    CHECK(student_p(4.303, 2) == Approx(0.05).epsilon(1e-3));
    CHECK(student_p(-2.306, 8) == Approx(0.05).epsilon(1e-3));
    CHECK(student_p(2.042, 30) == Approx(0.05).epsilon(1e-3));
    CHECK(student_p(3.169, 10) == Approx(0.01).epsilon(1e-3));
    CHECK(student_p(0, 5) == 1);
}

TEST_CASE("Benjamini and Hochberg's own example: four of fifteen hypotheses are rejected") {
    const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    const std::vector<bool> falls = benjamini_hochberg(p, 0.05);
    CHECK(std::ranges::count(falls, true) == 4);
    CHECK(falls[3]);
    CHECK_FALSE(falls[4]);
}

TEST_CASE("the bootstrap's interval of the ratio contains the planted ratio and is reproducible") {
    BusyMachine machine(1);
    const std::vector<SpeedPair> pairs = {{machine.measure(1e-3), machine.measure(1.1e-3)}};
    const Interval ratio = compare_speed(pairs, {})[0].ratio;
    CHECK(ratio.low < 1.1);
    CHECK(ratio.high > 1.1);
    CHECK(ratio.high - ratio.low < 0.05);
    CHECK(compare_speed(pairs, {})[0].ratio.low == ratio.low);
    const std::vector<SpeedPair> without_base = {{{}, pairs[0].now}};
    CHECK(compare_speed(without_base, {})[0].ratio.value == 1);
}

TEST_CASE("an A/A comparison of 200 calls gives at most two verdicts of a change") {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        CHECK(changes(BusyMachine(seed).runs(200)) <= 2);
        // Among two passes some agree by chance: the noise floor of all calls protects them.
        CHECK(changes(BusyMachine(seed).runs(200, 2)) <= 2);
    }
}

TEST_CASE("a call that became 5% slower is found in at least 95 of 100 runs") {
    int found = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        std::vector<SpeedPair> pairs = BusyMachine(100 + seed).runs(20);
        slow_down(pairs[11].now, 1.05);
        const auto comparisons = compare_speed(pairs, {});
        for (size_t i = 0; i < comparisons.size(); ++i) {
            if (i == 11 && comparisons[i].verdict == SpeedVerdict::kSlower) ++found;
            if (i != 11 && is_change(comparisons[i])) ++wrong;
        }
    }
    CHECK(found >= 95);
    CHECK(wrong <= 10);
}

TEST_CASE(
    "among calls with noise from memory, one without noise that became 5% slower is found, and no other is named") {
    int found = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        std::vector<SpeedPair> pairs = BusyMachine(700 + seed).runs(24, 12);
        std::mt19937_64 random(seed);
        std::normal_distribution<double> memory(0, 0.08);
        for (size_t i = 12; i < pairs.size(); ++i) {
            for (Passes* side : {&pairs[i].base, &pairs[i].now}) {
                for (auto& pass : *side) {
                    const double noise = std::exp(memory(random));
                    for (double& sample : pass) sample *= noise;
                }
            }
        }
        slow_down(pairs[7].now, 1.05);
        const auto comparisons = compare_speed(pairs, {});
        for (size_t i = 0; i < comparisons.size(); ++i) {
            if (i == 7 && comparisons[i].verdict == SpeedVerdict::kSlower) ++found;
            if (i != 7 && is_change(comparisons[i])) ++wrong;
        }
    }
    CHECK(found >= 38);
    CHECK(wrong <= 4);
}

TEST_CASE("a pass with other work on the machine changes no verdict") {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<SpeedPair> pairs = BusyMachine(900 + seed).runs(1, 12);
        for (double& sample : pairs[0].now[5]) sample *= 1.6;
        CHECK(changes(pairs) == 0);
        slow_down(pairs[0].now, 1.05);
        CHECK(compare_speed(pairs, {})[0].verdict == SpeedVerdict::kSlower);
    }
}

TEST_CASE("a single call has only its own noise, and gets a verdict nevertheless") {
    int found = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        std::vector<SpeedPair> pairs = BusyMachine(300 + seed).runs(1);
        if (changes(pairs) > 0) ++wrong;
        slow_down(pairs[0].now, 1.05);
        if (compare_speed(pairs, {})[0].verdict == SpeedVerdict::kSlower) ++found;
    }
    CHECK(found >= 95);
    CHECK(wrong <= 2);
}

TEST_CASE("a change below the least effect is none, even if it is certain") {
    BusyMachine machine(5);
    SpeedPair pair{machine.measure(1, 40, 100), machine.measure(1.01, 40, 100)};
    const SpeedComparison comparison = compare_speed(std::span(&pair, 1), {})[0];
    CHECK(comparison.p < 1e-3);
    CHECK(comparison.verdict == SpeedVerdict::kSame);
}

TEST_CASE("a faster call is the reverse, and few passes are ambiguous") {
    BusyMachine machine(6);
    SpeedPair pair{machine.measure(1.2), machine.measure(1)};
    CHECK(compare_speed(std::span(&pair, 1), {})[0].verdict == SpeedVerdict::kFaster);
    SpeedPair lone{machine.measure(1.2, 1), machine.measure(1, 1)};
    const SpeedComparison unknown = compare_speed(std::span(&lone, 1), {})[0];
    CHECK(unknown.verdict == SpeedVerdict::kAmbiguous);
    CHECK(std::isinf(unknown.ratio.high));
}

TEST_CASE("a machine that is slower as a whole makes no call slower") {
    BusyMachine machine(8);
    std::vector<SpeedPair> pairs = machine.runs(12);
    for (SpeedPair& pair : pairs) slow_down(pair.now, 1.2);
    CHECK(changes(pairs) == 12);
    SpeedOptions options;
    options.drift = 1.2;
    CHECK(changes(pairs, options) == 0);
    slow_down(pairs[3].now, 1.1);
    CHECK(changes(pairs, options) == 1);
    options.drift_noise = 0.1;
    CHECK(changes(pairs, options) == 0);
}

TEST_CASE("a change of very many calls may come from the machine, a change of one call is its own") {
    BusyMachine machine(9);
    std::vector<SpeedPair> pairs = machine.runs(40);
    for (SpeedPair& pair : pairs) slow_down(pair.now, 1.05);
    CHECK(changes(pairs) == 0);
    // Unless the passes of both alternated: then the machine was the same.
    SpeedOptions options;
    options.alternate = true;
    CHECK(changes(pairs, options) == 40);
    slow_down(pairs[17].now, 1.5);
    CHECK(changes(pairs) == 1);
}

TEST_CASE("calls that differ more from run to run than from pass to pass get no verdict of a change") {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        std::vector<SpeedPair> pairs = BusyMachine(seed).runs(200);
        std::mt19937_64 random(seed);
        std::normal_distribution<double> layout(0, 0.04);
        for (SpeedPair& pair : pairs) slow_down(pair.now, std::exp(layout(random)));
        CHECK(changes(pairs) <= 2);
    }
}
