/// The figures of diopi profile against Google Benchmark's, and the cost of the timing itself.
#include "call/chain.hpp"
#include "interleave.hpp"
#include "operands.hpp"
#include "suites.hpp"
#include "timing/timing.hpp"
#include "timing/timing_interceptor.hpp"

namespace diopi::bench {

namespace {

/// The two figures must agree within 3%.
constexpr double kAgreement = 0.03;
constexpr int64_t kRounds = 40;
constexpr double kInterceptorGoal = 1e-6;
constexpr int64_t kInterceptorBatch = 1000, kInterceptorRounds = 200;

struct Scene {
    Context context{cpu_device()};
    Chain chain{*backends().front()};
    ProfileClock clock;

    Scene() {
        auto started = ProfileClock::start(context);
        if (!started.ok()) throw std::runtime_error(started.error().message);
        clock = std::move(*started);
    }
    void run(Call& call) {
        const Outcome outcome = chain.run(call, context);
        if (!outcome.ok()) throw std::runtime_error(outcome.message);
        context.release();
    }
};

double median_of_samples(const std::vector<TimedRun>& runs) {
    std::vector<double> seconds;
    for (const TimedRun& run : runs) seconds.push_back(run.cpu);
    return estimate_median(seconds).median;
}

/// The profile's median over one round against the median of as many iterations, each timed alone.
void compare(benchmark::State& state, Call call) {
    Scene scene;
    Call* const only[] = {&call};
    TimingOptions options;
    options.max_seconds = 0.1;
    options.max_warmup_seconds = 0.02;
    Rounds rounds;
    for ([[maybe_unused]] auto iteration : state) {
        const auto samples = time_call(scene.chain, only, scene.context, scene.clock, options);
        if (!samples.ok()) throw std::runtime_error(samples.error().message);
        rounds.ours.push_back(median_of_samples(samples->runs));
        std::vector<double> theirs;
        for (size_t i = 0; i < samples->runs.size(); ++i) {
            theirs.push_back(seconds_per_call([&] { scene.run(call); }, samples->batch));
        }
        rounds.baseline.push_back(estimate_median(theirs).median);
        state.SetIterationTime(rounds.ours.back());
    }
    const Estimate ratio = rounds.speed();
    report(state, "ratio", ratio, 1 - kAgreement);
    if (ratio.median > 1 + kAgreement) state.SkipWithError("the profile's figure is more than 3% below the other");
}

void add(benchmark::State& state) {
    constexpr int64_t kElements = (int64_t{8} << 20) / 4;
    Call call(*find_row("diopiAdd"));
    call["out"] = random_tensor({kElements}, 1);
    call["input"] = random_tensor({kElements}, 2);
    call["other"] = random_tensor({kElements}, 3);
    call["alpha"] = Scalar::of(int64_t{1});
    compare(state, std::move(call));
}

void matmul(benchmark::State& state) {
    Call call(*find_row("diopiLinear"));
    call["out"] = random_tensor({1024, 1024}, 1);
    call["input"] = random_tensor({1024, 1024}, 2);
    call["weight"] = random_tensor({1024, 1024}, 3);
    compare(state, std::move(call));
}

/// The chain with timing on against the empty chain, on one element.
void interceptor(benchmark::State& state) {
    Scene plain, timed;
    TimingInterceptor timing(timed.clock, kInterceptorBatch);
    timed.chain.add(timing);
    Call call(*find_row("diopiAdd"));
    call["out"] = random_tensor({1}, 1);
    call["input"] = random_tensor({1}, 2);
    call["other"] = random_tensor({1}, 3);
    call["alpha"] = Scalar::of(int64_t{1});
    const auto with = [&] { timed.run(call); };
    const auto without = [&] { plain.run(call); };
    Rounds rounds;
    for ([[maybe_unused]] auto iteration : state) {
        rounds.ours.push_back(seconds_per_call(with, kInterceptorBatch));
        rounds.baseline.push_back(seconds_per_call(without, kInterceptorBatch));
        if (!timing.collect().ok()) throw std::runtime_error("the calls were not timed");
        state.SetIterationTime(rounds.ours.back());
    }
    report(state, "overhead_ns", rounds.difference(), kInterceptorGoal, 1e9);
    state.counters["empty_call_ns"] = estimate_median(rounds.baseline).median * 1e9;
}

}  // namespace

void register_profile() {
    const std::pair<const char*, void (*)(benchmark::State&)> all[] = {{"profile/add_8MiB", add},
                                                                       {"profile/matmul_1024", matmul}};
    for (const auto& [name, function] : all) {
        benchmark::RegisterBenchmark(name, function)
            ->UseManualTime()
            ->Iterations(kRounds)
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark("profile/timing_on", interceptor)->UseManualTime()->Iterations(kInterceptorRounds);
}

}  // namespace diopi::bench
