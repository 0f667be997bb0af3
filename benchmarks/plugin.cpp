/// The cost of opening a library at run time: once, and at each call.
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "backend/library_backend.hpp"
#include "call/chain.hpp"
#include "core/stopwatch.hpp"
#include "interleave.hpp"
#include "operands.hpp"
#include "suites.hpp"

namespace diopi::bench {

namespace {

constexpr double kGoalOfLoading = 20e-3, kGoalOfCall = 50e-9;
constexpr int64_t kBatch = 1000, kRounds = 400, kLoads = 20;

std::unique_ptr<LibraryBackend> opened(const char* path) {
    auto library = LibraryBackend::create(path, "cpu");
    if (!library.ok()) throw std::runtime_error(library.error().message);
    if (Status s = (*library)->open(); !s.ok()) throw std::runtime_error(s.message());
    return std::move(*library);
}

/// Runs in a new process, because a process loads a library only once.
double seconds_of_load(const char* path) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        const Stopwatch watch;
        const auto library = opened(path);
        const double seconds = watch.seconds();
        _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
    }
    close(ends[1]);
    double seconds = 0;
    const bool is_read = read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!is_read) throw std::runtime_error("the library was not loaded");
    return seconds;
}

/// Reading its symbols, dlopen with all its libraries, and the addresses of all its functions.
void load(benchmark::State& state, const char* path) {
    Rounds rounds;
    for ([[maybe_unused]] auto iteration : state) {
        rounds.ours.push_back(seconds_of_load(path));
        state.SetIterationTime(rounds.ours.back());
    }
    report(state, "load_ms", estimate_median(rounds.ours), kGoalOfLoading, 1e3);
}

/// The same kernel on one element, called through the library and linked in.
void call(benchmark::State& state) {
    static const auto library = opened(DIOPI_IMPL);
    const TensorPtr out = random_tensor({1}, 1), input = random_tensor({1}, 2), other = random_tensor({1}, 3);
    Call call(*find_row("diopiAdd"));
    call["out"] = out, call["input"] = input, call["other"] = other, call["alpha"] = Scalar::of(int64_t{1});
    Context context(cpu_device());
    const Chain loaded(library->backend()), linked(*backends().front());
    const auto run = [&](const Chain& chain) {
        const Outcome outcome = chain.run(call, context);
        if (!outcome.ok()) throw std::runtime_error(outcome.message);
        context.release();
    };
    const Rounds rounds = interleave(
        state, kBatch, [&] { run(loaded); }, [&] { run(linked); });
    report(state, "overhead_ns", rounds.difference(), kGoalOfCall, 1e9);
}

}  // namespace

void register_plugin() {
    benchmark::RegisterBenchmark("plugin/load", load, DIOPI_IMPL)->UseManualTime()->Iterations(kLoads);
    // All functions of the standard, with empty bodies.
    benchmark::RegisterBenchmark("plugin/load_538_functions", load, DIOPI_PLUGINS "/libplugin_all.so")
        ->UseManualTime()
        ->Iterations(kLoads);
    benchmark::RegisterBenchmark("plugin/add_1_element", call)->UseManualTime()->Iterations(kRounds);
}

}  // namespace diopi::bench
