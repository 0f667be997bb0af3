#include "runtime_suite/runtime_suite.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <exception>

#include "conformance/outcome.hpp"
#include "core/stopwatch.hpp"
#include "core/suggest.hpp"
#include "journal/journal.hpp"
#include "runtime_suite/runtime_checks.hpp"

namespace diopi {

namespace {

constexpr std::string_view kSuite = "runtime";

constexpr std::array kChecks = {
    RuntimeCheck{"device_info", runtime_check::device_info},
    RuntimeCheck{"last_error", runtime_check::last_error},
    RuntimeCheck{"one_stream", runtime_check::one_stream},
    RuntimeCheck{"many_streams", runtime_check::many_streams},
    RuntimeCheck{"threads_and_streams", runtime_check::threads_and_streams},
    RuntimeCheck{"overlap", runtime_check::overlap},
    RuntimeCheck{"tensor_construction", runtime_check::tensor_construction},
    RuntimeCheck{"generator_state", runtime_check::generator_state},
    RuntimeCheck{"memory_checker", runtime_check::memory_checker},
    RuntimeCheck{"copies", runtime_check::copies},
};

std::string id_of(const RuntimeCheck& check) { return std::string(kSuite) + "/" + std::string(check.name); }

CaseResult result_of_check(const RuntimeCheck& check) {
    CaseResult result;
    result.case_id = id_of(check);
    result.suite = kSuite;
    result.op = check.name;
    return result;
}

Result<std::string> run_check(const RuntimeCheck& check, const RuntimeSubject& subject) {
    try {
        return check.run(subject);
    } catch (const std::exception& e) {
        return failed(std::string("the check threw an exception: ") + e.what());
    }
}

}  // namespace

std::span<const RuntimeCheck> runtime_checks() { return kChecks; }

Result<std::vector<const RuntimeCheck*>> choose_runtime_checks(const NameChoice& ids) {
    std::vector<const RuntimeCheck*> chosen;
    std::vector<std::string> known;
    for (const RuntimeCheck& check : kChecks) {
        known.push_back(id_of(check));
        if (ids.matches(known.back())) chosen.push_back(&check);
    }
    const std::string* unknown = ids.unmatched(known);
    if (unknown == nullptr) return chosen;
    const std::string hint = did_you_mean(*unknown, known);
    std::string list;
    for (const std::string& id : known) list += (list.empty() ? "; there are: " : ", ") + id;
    return bad_input("the suite runtime has no check '" + *unknown + "'" + (hint.empty() ? list : hint));
}

CaseResult run_runtime_check(const RuntimeCheck& check, const RuntimeSubject& subject) {
    const Stopwatch watch;
    CaseResult result = result_of_check(check);
    const Result<std::string> findings = run_check(check, subject);
    if (findings.ok()) {
        result.reason = *findings;
    } else {
        const bool lacking = findings.error().code == Errc::kNotImplemented;
        result.verdict = lacking ? Verdict::kNotImplemented : Verdict::kFailed;
        result.reason = findings.error().message;
    }
    result.seconds = watch.seconds();
    return result;
}

Result<ConformanceRun> run_runtime_suite(const RuntimeSuiteOptions& options,
                                         const std::function<void(const CaseResult&)>& on_result) {
    const Stopwatch watch;
    RunHeader header;
    header.command = options.command;
    header.repeat = options.repeat;
    header.backend = options.subject.backend->name();
    header.environment = options.environment;
    header.cases = static_cast<int64_t>(options.checks.size());
    auto journal = JournalWriter::create(options.run_folder, std::move(header));
    if (!journal.ok()) return journal.error();

    ConformanceRun run;
    const auto work = [&](size_t item) {
        omp_set_num_threads(1);
        const RuntimeCheck& check = *options.checks[item];
        CaseResult result = run_runtime_check(check, options.subject);
        if (options.after_check) result.notes = options.after_check(check);
        return WorkAnswer{to_json_line(result)};
    };
    const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) {
        // A check has no memory limit.
        run.results.push_back(settle(result_of_check(*options.checks[item]), outcome));
        on_result(run.results.back());
        return journal->append(run.results.back());
    };
    std::vector<size_t> items(options.checks.size());
    for (size_t i = 0; i < items.size(); ++i) items[i] = i;
    if (Status s = run_in_workers(items, options.pool, work, done); !s.ok()) return s.error();
    run.interrupted = interrupted();
    run.seconds = watch.seconds();
    return run;
}

}  // namespace diopi
