#include "worker/library_probe.hpp"

#include <fmt/format.h>

#include "worker/crash_context.hpp"
#include "worker/output_capture.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

constexpr size_t kUse = 0, kFinish = 1;

/// Runs each of the steps, in the worker.
Status try_library(LibraryBackend& library) {
    if (Status s = library.open(); !s.ok()) return s;
    const Backend& backend = library.backend();
    note_stage("the first use of its device");
    return check_health(backend.device());
}

std::string problem_of(const WorkOutcome& outcome) {
    std::string text = outcome.status.message();
    if (outcome.finished()) return text;
    if (const std::string said = last_line(outcome.errors); !said.empty()) text += "; it said: " + said;
    return text;
}

}  // namespace

Result<std::vector<std::string>> probe_library(LibraryBackend& library, double timeout_s) {
    const std::string name(library.backend().name());
    std::vector<std::string> notes;
    PoolOptions pool;
    pool.timeout_s = timeout_s;
    pool.timeout_option = "--impl-timeout";
    pool.memory_limit = 0;
    library.on_stage = [](const std::string& stage) { note_stage(stage); };
    library.hides_output = false;
    const auto work = [&](size_t item) {
        return WorkAnswer{.status = item == kUse ? try_library(library) : library.finish()};
    };
    const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
        const std::string problem = problem_of(outcome);
        if (!outcome.printed.empty()) notes.push_back(fmt::format("{} {}", name, outcome.printed));
        if (problem.empty()) return {};
        if (item == kUse) return bad_input(fmt::format("{} cannot be used: {}", name, problem));
        notes.push_back(fmt::format("{}: {}; it is not called again", name, problem));
        return {};
    };
    const Status status = run_in_workers({kUse, kFinish}, pool, work, done);
    library.hides_output = true;
    if (!status.ok()) return status.error();
    if (interrupted()) return failed("interrupted while " + name + " was tried");
    return notes;
}

}  // namespace diopi
