/// The suite of the runtime: checks of the device and of the functions of diopirt.h, which operators rely on. Each
/// check is a case "runtime/<check>" of the suite "runtime".
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/conformance.hpp"
#include "core/name_choice.hpp"
#include "runtime_suite/runtime_subject.hpp"

namespace diopi {

struct RuntimeCheck {
    std::string_view name;
    /// Returns its measurements in one line. kNotImplemented: the backend lacks what the check needs; every other error
    /// is a failure.
    Result<std::string> (*run)(const RuntimeSubject& subject);
};

/// The checks in the order of execution.
[[nodiscard]] std::span<const RuntimeCheck> runtime_checks();

/// The checks of case ids, "runtime/copies", or of globs; or an error that names the nearest id.
[[nodiscard]] Result<std::vector<const RuntimeCheck*>> choose_runtime_checks(const NameChoice& ids);

/// Runs one check; an exception fails it. A passed check has its measurements in `reason`.
[[nodiscard]] CaseResult run_runtime_check(const RuntimeCheck& check, const RuntimeSubject& subject);

struct RuntimeSuiteOptions {
    RuntimeSubject subject;
    std::vector<const RuntimeCheck*> checks;
    PoolOptions pool;
    /// Called in the worker process after each check.
    std::function<std::string(const RuntimeCheck&)> after_check;
    /// Folder of the journal.
    std::string run_folder;
    /// The command line and the options after `diopi test --case ID`, for the journal.
    std::vector<std::string> command;
    std::string environment;  ///< machine_text()
    std::string repeat;
};

/// Runs each check in a worker process, so that a crash or a hang costs only that check, and writes the journal.
[[nodiscard]] Result<ConformanceRun> run_runtime_suite(const RuntimeSuiteOptions& options,
                                                       const std::function<void(const CaseResult&)>& on_result);

}  // namespace diopi
