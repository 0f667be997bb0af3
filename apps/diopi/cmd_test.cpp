/// diopi test: holds a backend to the float64 reference, case by case.
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "kernels/reference/blas.hpp"
#include "options.hpp"
#include "report/console.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"
#include "report/summary.hpp"
#include "run/conformance.hpp"
#include "variant_options.hpp"

namespace diopi {

namespace {

struct TestOptions {
    CommonOptions common;
    VariantFlags variants;
    std::string accuracy = "classes";
    std::string csv = "error_report.csv";
    std::string junit;
    double timeout_s = 300;
    bool resume = false;
    std::vector<std::string> command;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  diopi test --fname add --filter-dtype float64   every case of add but those that use float64\n"
    "  diopi test --model resnet50                     the calls of ResNet-50's training\n"
    "  diopi test --case ops/relu.relu.3               one case again\n"
    "  diopi test --fname linear --fill exact          whole numbers, whose sums of products are exact\n"
    "  diopi test --resume                             go on with an interrupted run\n";

std::string repeat_text(const TestOptions& options) {
    std::string text = repeat_options(options.common);
    if (const std::string variants = repeat_variants(options.variants); !variants.empty()) {
        text += (text.empty() ? "" : " ") + variants;
    }
    if (options.accuracy != "classes") text += (text.empty() ? "" : " ") + ("--accuracy " + options.accuracy);
    return text;
}

/// What is left behind when the cases are done: report, CSV, JUnit, JSON or summary.
Status write_reports(const ConformanceRun& run, const TestOptions& options, const Backend& backend) {
    const std::string repeat = repeat_text(options);
    if (Status s = write_error_csv(options.csv, run.results, repeat); !s.ok()) return s;
    if (!options.junit.empty()) {
        if (Status s = write_junit(options.junit, run.results, repeat); !s.ok()) return s;
    }
    if (options.common.json) {
        const RunFigures figures{std::string(backend.name()), options.common.seed, run.seconds, repeat};
        fmt::print("{}\n", summary_json(run.results, figures));
        return {};
    }
    fmt::print("{}", error_report(run.results));
    if (!options.common.quiet) {
        fmt::print("\n");
        summary_table(run.results).print(stdout);
    }
    fmt::print("\n{}\n", summary_line(count(run.results), run.seconds));
    return {};
}

int run_test(const TestOptions& options) {
    auto backend = find_backend(options.common.impl);
    if (!backend.ok()) return report_error(backend.error());
    auto filtered = parse_dtypes(options.common.filter_dtype);
    if (!filtered.ok()) return report_error(filtered.error());
    for (const std::string& path : {options.csv, options.junit}) {
        if (Status s = check_output_file(path); !s.ok()) return report_error(s.error());
    }
    auto cases = choose_cases(options.common, **backend);
    if (!cases.ok()) return report_error(cases.error());
    auto skipped = vary_cases(*cases, options.variants);
    if (!skipped.ok()) return report_error(skipped.error());

    ConformanceOptions conformance;
    conformance.cases.backend = *backend;
    conformance.cases.seed = options.common.seed;
    conformance.cases.legacy = options.accuracy == "legacy";
    conformance.pool = {worker_count(options.common), options.timeout_s};
    conformance.filtered = *filtered;
    conformance.skipped = std::move(*skipped);
    conformance.data = options.common.data;
    conformance.run_folder = options.common.run_folder;
    conformance.resume = options.resume;
    conformance.command = options.command;
    conformance.repeat = repeat_text(options);

    const bool talkative = options.common.debug_level > 0;
    if (talkative) fmt::print(stderr, "diopi: debug: {}\n", reference::blas_description());
    install_interrupt_handler();
    const bool silent = options.common.json;
    const LogLevel least = options.common.quiet ? LogLevel::kError : talkative ? LogLevel::kDebug : LogLevel::kInfo;
    auto console = std::make_unique<Console>(Console::Options{silent ? stderr : stdout, least, !silent});
    console->start(static_cast<int64_t>(cases->size()));
    int64_t failures = 0;
    const std::string repeat = repeat_text(options);
    auto run = run_conformance(*cases, conformance, [&](const CaseResult& result, int64_t done, int64_t) {
        if (is_failure(result.verdict)) ++failures;
        for (const LogMessage& message : messages_of(result, repeat)) {
            if (!silent) console->log(message.level, message.text);
        }
        console->advance(done, failures);
    });
    console.reset();
    if (!run.ok()) return report_error(run.error());
    if (Status s = write_reports(*run, options, **backend); !s.ok()) return report_error(s.error());
    if (run->interrupted) {
        fmt::print(stderr,
                   "diopi: interrupted after {} of {} cases; diopi test --resume with the same options goes on\n",
                   run->results.size(), cases->size());
        return static_cast<int>(Exit::kInterrupted);
    }
    return static_cast<int>(failures > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace

void add_test_command(CLI::App& app, int& code, int argc, char** argv) {
    auto options = std::make_shared<TestOptions>();
    options->command.assign(argv, argv + argc);
    CLI::App* command = app.add_subcommand("test", "hold an operator library to the float64 reference");
    add_common_options(*command, options->common);
    add_variant_options(*command, options->variants);
    command->add_option("--accuracy", options->accuracy, "classes (docs/accuracy.md) or legacy (isclose and a ratio)")
        ->check(CLI::IsMember({"classes", "legacy"}))
        ->capture_default_str();
    command->add_option("--timeout", options->timeout_s, "seconds that one case may take")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command->add_flag("--resume", options->resume, "go on with the journal in the run folder");
    command->add_option("--csv", options->csv, "where the error report goes")->capture_default_str();
    command->add_option("--junit", options->junit, "also write JUnit XML");
    command->footer(kExamples);
    command->callback([options, &code] { code = run_test(*options); });
}

}  // namespace diopi
