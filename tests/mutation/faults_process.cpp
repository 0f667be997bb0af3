/// Faults that end or block the process, and faults that differ from call to call.
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

void crash(Scene&) { std::raise(SIGSEGV); }
void abort_process(Scene&) { std::abort(); }
void end_process(Scene&) { _exit(0); }

void hang(Scene&) {
    for (;;) usleep(1000);
}

void print_stray(Scene& scene) {
    constexpr char kText[] = "debug: here\n";
    if (write(STDOUT_FILENO, kText, sizeof kText - 1) > 0) scene.act();
}

void error_sometimes(Scene& scene) {
    if (scene.serial() % 2 == 1) scene.fail("the library is out of order");
}

/// The lowest bit of one number differs at every second call.
void nondeterministic(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || scene.serial() % 2 == 0) return;
    const std::vector<double> values = values_of(*result->right);
    int64_t at = result->tensor->numel() / 2;
    for (size_t i = 0; i < values.size() && !std::isfinite(values[static_cast<size_t>(at)]); ++i) {
        at = static_cast<int64_t>(i);
    }
    *element(*result->tensor, at) ^= std::byte{1};
}

void wrong_again(Scene& scene) {
    const auto* result = scene.first();
    if (result != nullptr && scene.serial() > 0) alter(*result->tensor, result->tensor->numel() / 2);
}

bool repeats(const Row& row) { return row.repeat == Repeat::repeatable; }

constexpr Fault kProcessFaults[] = {
    {"PS", "crash", "SIGSEGV", crash, nullptr, Ending::kDies},
    {"PA", "abort", "SIGABRT", abort_process, nullptr, Ending::kDies},
    {"PX", "exit", "ends the process with exit code 0", end_process, nullptr, Ending::kDies},
    {"PH", "hang", "never returns", hang, nullptr, Ending::kHangs},
    {"PP", "stray_output", "writes a line to standard output", print_stray, nullptr, Ending::kDies},
    {"PE", "error_sometimes", "returns an error at every second call", error_sometimes, nullptr, Ending::kReturns,
     Acting::later},
    {"PN", "nondeterministic", "one bit differs at every second call", nondeterministic, repeats, Ending::kReturns,
     Acting::later},
    {"P2", "wrong_again", "one element is wrong from the second call on", wrong_again, nullptr, Ending::kReturns,
     Acting::later},
};

}  // namespace

std::span<const Fault> process_faults() { return kProcessFaults; }

}  // namespace diopi::mutation
