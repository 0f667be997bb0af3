#include "runtime_suite_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/console.hpp"
#include "report/error_report.hpp"
#include "report/run_report.hpp"
#include "report/suite_report.hpp"
#include "runtime/machine_text.hpp"
#include "runtime_suite/runtime_suite.hpp"
#include "target_options.hpp"

namespace diopi {

namespace {

std::string repeat_suite_text(const RuntimeSuiteCommand& options) {
    std::string text = "--suite runtime";
    if (options.common.impl != CommonOptions().impl) text += " --impl " + shell_quoted(options.common.impl);
    if (const std::string library = repeat_library_options(options.common.loading); !library.empty())
        text += " " + library;
    if (const std::string timeout = repeat_timeout(options.timeout_s); !timeout.empty()) text += " " + timeout;
    return text;
}

/// Refuses options that select cases of operators: they would have no effect.
Status refuse_options_of_operators(const RuntimeSuiteCommand& options) {
    const CommonOptions& common = options.common;
    const std::array given = {std::pair{"--fname", !common.fname.empty()},
                              std::pair{"an operator", !common.operators.empty()},
                              std::pair{"--model", !common.model.empty()},
                              std::pair{"-k", !common.expression.empty()},
                              std::pair{"--cases", !common.case_files.empty()},
                              std::pair{"--filter-dtype", !common.filter_dtype.empty()},
                              std::pair{"--only-dtype", !common.only_dtype.empty()},
                              std::pair{"--resume", options.resume}};
    const auto* found = std::ranges::find_if(given, [](const auto& option) { return option.second; });
    if (found == given.end()) return {};
    return bad_input(std::string(found->first) +
                     " cannot be used with --suite runtime; choose one check with --case runtime/NAME");
}

Result<std::vector<const RuntimeCheck*>> choose_checks(const CommonOptions& options) {
    auto ids = NameChoice::parse(options.case_ids);
    if (!ids.ok()) return bad_input("--case: " + ids.error().message);
    return choose_runtime_checks(*ids);
}

Status write_suite_reports(const ConformanceRun& run, const RuntimeSuiteCommand& options) {
    const std::string repeat = repeat_suite_text(options);
    if (Status s = write_report_files({options.csv, options.junit}, run.results, repeat); !s.ok()) return s;
    if (options.common.json) {
        fmt::print("{}\n", suite_json(run.results, {options.common.impl, options.common.seed, run.seconds, repeat}));
    } else {
        fmt::print("\n{}\n", summary_line(count(run.results), run.seconds));
    }
    return {};
}

}  // namespace

int run_runtime_suite_command(const RuntimeSuiteCommand& options) {
    if (Status s = refuse_options_of_operators(options); !s.ok()) return report_error(s.error());
    auto backend = CheckedBackend::find(options.common.impl, options.common.loading, memory_check_options());
    if (!backend.ok()) return report_error(backend.error());
    auto checks = choose_checks(options.common);
    if (!checks.ok()) return report_error(checks.error());
    for (const std::string& path : {options.csv, options.junit}) {
        if (Status s = check_output_file(path); !s.ok()) return report_error(s.error());
    }

    RuntimeSuiteOptions suite;
    suite.subject.backend = &**backend;
    suite.checks = std::move(*checks);
    // The checks run one at a time: they measure time, and start threads of their own.
    suite.pool = {1, options.timeout_s};
    suite.after_check = [&](const RuntimeCheck& check) {
        return backend->leaks("in case runtime/" + std::string(check.name));
    };
    suite.run_folder = options.common.run_folder;
    suite.command = options.common.command;
    suite.environment = machine_text();
    suite.repeat = repeat_suite_text(options);

    install_interrupt_handler();
    Console console({stdout, options.common.quiet ? LogLevel::kError : LogLevel::kInfo, false});
    const auto run = run_runtime_suite(suite, [&](const CaseResult& result) {
        fmt::print(stderr, "{}", result.notes);
        const LogMessage message = message_of_check(result, suite.repeat);
        if (!options.common.json) console.log(message.level, message.text);
    });
    if (!run.ok()) return report_error(run.error());
    if (Status s = write_suite_reports(*run, options); !s.ok()) return report_error(s.error());
    if (run->interrupted) {
        fmt::print(stderr, "diopi: interrupted after {} of {} checks; run them again\n", run->results.size(),
                   suite.checks.size());
        return static_cast<int>(Exit::kInterrupted);
    }
    return static_cast<int>(count(run->results).failures() > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace diopi
