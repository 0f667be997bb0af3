/// diopi test: holds a backend to the float64 reference, case by case.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "bundle_origin.hpp"
#include "cases/device_config.hpp"
#include "commands.hpp"
#include "core/suggest.hpp"
#include "environment.hpp"
#include "kernels/reference/blas.hpp"
#include "memory_check.hpp"
#include "options.hpp"
#include "order_command.hpp"
#include "replay_command.hpp"
#include "report/console.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"
#include "report/summary.hpp"
#include "run/conformance.hpp"
#include "run/memory_limit.hpp"
#include "runtime_suite_command.hpp"
#include "shrink_command.hpp"
#include "store/case_order.hpp"
#include "store/checksum.hpp"
#include "variant_options.hpp"

namespace diopi {

namespace {

struct TestOptions {
    CommonOptions common;
    std::string suite = "ops";
    VariantFlags variants;
    std::string accuracy = "classes";
    std::vector<std::string> checks = {"all"};
    std::string csv = "error_report.csv";
    std::string junit;
    std::string device_config;
    double timeout_s = 300;
    std::string memory_limit;
    bool resume = false;
    std::string shard;
    bool shrink = false;
    double shrink_time_s = 60;
    std::optional<std::string> shuffle;  ///< the seed as it is written; empty: the run's
    bool find_order = false;
    std::vector<std::string> in_order;
    std::string save_failures;
    std::string replay;
    std::vector<std::string> given;  ///< options on the command line, by name
    std::vector<std::string> command;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  diopi test --fname add --filter-dtype float64   every case of add but those that use float64\n"
    "  diopi test --model resnet50                     the calls of ResNet-50's training\n"
    "  diopi test --case ops/relu.relu.3               one case again\n"
    "  diopi test --suite runtime                      the device, streams, tensors, generators\n"
    "  diopi test --fname linear --fill exact          whole numbers, whose sums of products are exact\n"
    "  diopi test --save-failures bad                  and a replay bundle of each failure, in folder bad\n"
    "  diopi test --replay bad/X.h5                    such a bundle again, on any machine\n"
    "  diopi test --resume                             go on with an interrupted run\n"
    "  diopi test --shard 2/4 --run night/shard_2      the second of four machines\n"
    "  diopi test --case ops/relu.relu.3 --shrink      the smallest case that fails as this one does\n"
    "  diopi test --fname add --find-order             do verdicts depend on what ran before?\n";

CLI::Validator memory_size() {
    const auto check = [](const std::string& text) {
        const auto size = parse_memory_size(text);
        return size.ok() ? std::string() : size.error().message;
    };
    return {check, ""};
}

std::string repeat_text(const TestOptions& options) {
    std::string text = repeat_options(options.common);
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (const std::string variants = repeat_variants(options.variants); !variants.empty()) append(variants);
    if (options.accuracy != "classes") append("--accuracy " + options.accuracy);
    if (options.checks != TestOptions().checks) append(fmt::format("--checks {}", fmt::join(options.checks, " ")));
    if (!options.device_config.empty()) append("--device-config " + shell_quoted(options.device_config));
    if (!options.memory_limit.empty()) append("--memory-limit " + options.memory_limit);
    return text;
}

/// What must follow `diopi test` to run the smallest form of a case from its file.
std::string repeat_shrunk_text(TestOptions options, const Shrunk& shrunk, const std::string& file) {
    options.common.case_files = {file};
    options.variants = {};
    options.variants.layout = shrunk.smallest.layout;
    options.variants.four_bytes = shrunk.smallest.four_bytes;
    const bool hangs = shrunk.after.verdict == Verdict::kTimeout;
    return repeat_text(options) + (hangs ? fmt::format(" --timeout {:g}", shrunk.timeout_s) : "");
}

RunOrder run_order(const TestOptions& options) {
    if (!options.in_order.empty()) return {RunOrder::By::kGiven};
    if (!options.shuffle) return {};
    return {RunOrder::By::kShuffle, options.shuffle->empty() ? options.common.seed : std::stoull(*options.shuffle)};
}

/// Options that change how the cases of operators run mean nothing to the runtime suite.
Status refuse_for_runtime_suite(const TestOptions& options) {
    if (!options.shrink && !options.shuffle && !options.find_order && options.in_order.empty()) return {};
    return bad_input("--shrink, --shuffle, --find-order and --in-order are about cases of operators: --suite ops");
}

/// Reads --device-config and puts it into the cases; warns of what it asks for in vain. No rules when it is not given.
Result<DeviceConfig> configure(const TestOptions& options, std::vector<Case>& cases, DeviceConfigFigures& figures) {
    if (options.device_config.empty()) return DeviceConfig();
    auto config = read_device_config(options.device_config);
    if (!config.ok()) return config;
    const DeviceConfigUse use = apply_device_config(*config, cases);
    const auto warn = [](const std::string& line) { fmt::print(stderr, "diopi: warning: {}\n", line); };
    std::ranges::for_each(use.unknown, warn);
    // Of one case that is repeated nearly every rule knows nothing.
    if (options.common.case_id.empty()) std::ranges::for_each(use.unmatched, warn);
    figures = {config->file, config->device, {}, use.held};
    for (size_t i = 0; i < use.matched.size(); ++i) {
        const DeviceRule& rule = config->rules[i];
        figures.rules.push_back({rule.effect(), rule.reason, use.matched[i]});
    }
    return config;
}

/// Why a case is skipped: a dtype of --filter-dtype, or a rule of the device configuration.
std::optional<std::string> skip_reason(const Case& c, const std::vector<Dtype>& filtered, const DeviceConfig& device) {
    const auto found = std::ranges::find_if(filtered, [&](Dtype dtype) { return c.uses(dtype); });
    if (found != filtered.end()) return fmt::format("uses {} (--filter-dtype)", name(*found));
    return device.skip_reason(c);
}

void print_rules(const DeviceConfigFigures& device) {
    fmt::print("\n{}{}\n", device.file, device.device.empty() ? "" : " (" + device.device + ")");
    rules_table(device).print(stdout);
    if (device.held > 0) {
        fmt::print("{} case{} held to a tolerance of it\n", device.held, device.held == 1 ? " is" : "s are");
    }
}

/// What is left behind when the cases are done: report, CSV, JUnit, JSON or summary.
Status write_reports(const ConformanceRun& run, const TestOptions& options, const Backend& backend,
                     const DeviceConfigFigures& device) {
    const std::string repeat = repeat_text(options);
    if (Status s = write_error_csv(options.csv, run.results, repeat); !s.ok()) return s;
    if (!options.junit.empty()) {
        if (Status s = write_junit(options.junit, run.results, repeat); !s.ok()) return s;
    }
    if (options.common.json) {
        const RunFigures figures{std::string(backend.name()), options.common.seed, run.seconds, repeat, device};
        fmt::print("{}\n", summary_json(run.results, figures));
        return {};
    }
    fmt::print("{}", error_report(run.results));
    if (!options.common.quiet) {
        fmt::print("\n");
        summary_table(run.results).print(stdout);
        if (!device.rules.empty()) print_rules(device);
    }
    fmt::print("\n{}\n", summary_line(count(run.results), run.seconds));
    return {};
}

/// What --shuffle takes.
CLI::Validator seed_or_nothing() {
    const auto check = [](const std::string& text) {
        uint64_t seed = 0;
        const bool sound = text.empty() || (text.front() != '-' && CLI::detail::lexical_cast(text, seed));
        return sound ? std::string() : "'" + text + "' is no seed: a whole number from 0 on";
    };
    return {check, ""};
}

/// A suite by its name.
CLI::Validator known_suite() {
    const auto check = [](const std::string& text) {
        const std::vector<std::string> known = {"ops", "runtime"};
        if (std::ranges::find(known, text) != known.end()) return std::string();
        const std::string hint = did_you_mean(text, known);
        return "there is no suite '" + text + "'" + (hint.empty() ? "; there are: ops, runtime" : hint);
    };
    return {check, ""};
}

/// --replay with what belongs to it, and the first option that does not.
ReplayCommand replay_of(const TestOptions& options) {
    constexpr std::array kFitting = {"--replay",       "--impl", "--checks", "--timeout",
                                     "--memory-limit", "--json", "--quiet",  "--debug-level"};
    ReplayCommand replay{options.common, options.replay, std::nullopt, options.timeout_s, options.memory_limit, {}};
    for (const std::string& name : options.given) {
        if (name == "--checks") replay.checks = options.checks;
        const bool fits = std::ranges::find(kFitting, name) != kFitting.end();
        if (!fits && replay.misplaced.empty()) replay.misplaced = name;
    }
    return replay;
}

/// Makes --save-failures ready for the run.
Status prepare_saving(const TestOptions& options, const Backend& backend, SaveFailures& save) {
    if (options.save_failures.empty()) return {};
    if (Status s = check_bundle_folder(options.save_failures); !s.ok()) return s;
    auto origin = bundle_origin(backend);
    if (!origin.ok()) return origin.status();
    save = {options.save_failures, std::move(*origin),
            [repeat = repeat_text(options)](const std::string& id) { return repeat_command(id, repeat); }};
    return {};
}

int run_test(const TestOptions& options) {
    if (!options.replay.empty()) return run_replay_command(replay_of(options));
    if (options.suite == "runtime") {
        if (Status s = refuse_for_runtime_suite(options); !s.ok()) return report_error(s.error());
        return run_runtime_suite_command(
            {options.common, options.csv, options.junit, options.timeout_s, options.resume, options.command});
    }
    auto backend = CheckedBackend::find(options.common.impl);
    if (!backend.ok()) return report_error(backend.error());
    auto filtered = parse_dtypes(options.common.filter_dtype);
    if (!filtered.ok()) return report_error(filtered.error());
    for (const std::string& path : {options.csv, options.junit}) {
        if (Status s = check_output_file(path); !s.ok()) return report_error(s.error());
    }
    auto checks = Checks::parse(options.checks);
    if (!checks.ok()) return report_error(checks.error());
    const auto shard = chosen_shard(options.shard);
    if (!shard.ok()) return report_error(shard.error());
    auto cases = options.in_order.empty() ? choose_cases(options.common, **backend)
                                          : choose_cases_in_order(options.common, options.in_order, **backend);
    if (!cases.ok()) return report_error(cases.error());
    auto without_variant = vary_cases(*cases, options.variants);
    if (!without_variant.ok()) return report_error(without_variant.error());
    DeviceConfigFigures figures;
    auto device = configure(options, *cases, figures);
    if (!device.ok()) return report_error(device.error());
    const SkipReason skipped = [&](const Case& c) {
        auto reason = skip_reason(c, *filtered, *device);
        const auto found = without_variant->find(c.id());
        if (!reason && found != without_variant->end()) reason = found->second;
        return reason;
    };
    const Selection selection = describe_selection(*cases, skipped);
    if (*shard) keep_shard(*cases, **shard, **backend, skipped);

    ConformanceOptions conformance;
    conformance.cases.backend = &**backend;
    conformance.cases.seed = options.common.seed;
    conformance.cases.legacy = options.accuracy == "legacy";
    conformance.cases.checks = *checks;
    conformance.order = run_order(options);
    conformance.pool.jobs = options.in_order.empty() ? worker_count(options.common) : 1;
    conformance.pool.timeout_s = options.timeout_s;
    conformance.pool.echo_errors = options.common.debug_level > 1;
    // A wide tensor reserves gigabytes and touches few of them.
    if (options.variants.layout.wide) conformance.pool.memory_limit = 0;
    if (!options.memory_limit.empty()) conformance.pool.memory_limit = *parse_memory_size(options.memory_limit);
    conformance.skip_reason = skipped;
    conformance.data = options.common.data;
    conformance.run_folder = options.common.run_folder;
    conformance.resume = options.resume;
    conformance.after_case = [&](const Case& c) { return backend->leaks("in case " + c.id()); };
    conformance.command = options.command;
    conformance.repeat = repeat_text(options);
    conformance.shard = *shard ? to_string(**shard) : "";
    conformance.selection = selection;
    if (Status s = prepare_saving(options, **backend, conformance.save); !s.ok()) return report_error(s.error());
    if (!device->rules.empty()) {
        auto checksum = checksum_of_file(options.device_config);
        if (!checksum.ok()) return report_error(checksum.error());
        conformance.device_config = *checksum;
    }

    const bool talkative = options.common.debug_level > 0;
    if (talkative) fmt::print(stderr, "diopi: debug: {}\n", reference::blas_description());
    install_interrupt_handler();
    if (options.find_order) return run_order_command({options.common, conformance, *cases});
    const bool silent = options.common.json;
    if (conformance.order.by == RunOrder::By::kShuffle && !silent) {
        fmt::print("shuffled: --shuffle {} gives this order again\n", conformance.order.seed);
    }
    if (*shard && !silent) {
        fmt::print("shard {}: {} of {} cases\n", conformance.shard, cases->size(), selection.cases);
    }
    const LogLevel least = options.common.quiet ? LogLevel::kError : talkative ? LogLevel::kDebug : LogLevel::kInfo;
    auto console = std::make_unique<Console>(Console::Options{silent ? stderr : stdout, least, !silent});
    console->start(static_cast<int64_t>(cases->size()));
    conformance.on_warning = [&](const std::string& text) {
        if (silent) {
            fmt::print(stderr, "diopi: warning: {}\n", text);
        } else {
            console->log(LogLevel::kWarning, text);
        }
    };
    int64_t failures = 0;
    const std::string repeat = repeat_text(options);
    auto run = run_conformance(*cases, conformance, [&](const CaseResult& result, int64_t done, int64_t) {
        if (is_failure(result.verdict)) ++failures;
        fmt::print(stderr, "{}", result.notes);
        for (const LogMessage& message : messages_of(result, repeat)) {
            if (!silent) console->log(message.level, message.text);
        }
        console->advance(done, failures);
    });
    console.reset();
    if (!run.ok()) return report_error(run.error());
    sort_by_case(run->results);
    if (Status s = write_reports(*run, options, **backend, figures); !s.ok()) return report_error(s.error());
    if (run->interrupted) {
        fmt::print(stderr,
                   "diopi: interrupted after {} of {} cases; diopi test --resume with the same options goes on\n",
                   run->results.size(), cases->size());
        return static_cast<int>(Exit::kInterrupted);
    }
    if (options.shrink && failures > 0) {
        ShrinkCommand shrinking{options.common, conformance, *cases, run->results, options.shrink_time_s, {}, {}};
        shrinking.prepare = [&](Case& c) {
            std::vector<Case> one = {c};
            static_cast<void>(apply_device_config(*device, one));
            c = std::move(one.front());
            return !skip_reason(c, *filtered, *device);
        };
        shrinking.repeat = [&](const Shrunk& shrunk, const std::string& file) {
            return repeat_shrunk_text(options, shrunk, file);
        };
        if (Status s = run_shrink_command(shrinking); !s.ok()) return report_error(s.error());
        if (interrupted()) return static_cast<int>(Exit::kInterrupted);
    }
    return static_cast<int>(failures > 0 ? Exit::kFailures : Exit::kPassed);
}

/// Options that change the order of a run, or make a failing case smaller (docs/shrink.md).
void add_repair_options(CLI::App& command, TestOptions& options) {
    const char* group = "Failures to repair";
    auto* shrink =
        command.add_flag("--shrink", options.shrink, "find the smallest form of each failing case")->group(group);
    command.add_option("--shrink-time", options.shrink_time_s, "seconds that the search for one case may take")
        ->group(group)
        ->needs(shrink)
        ->check(seconds_above_zero())
        ->capture_default_str();
    auto* shuffle = command
                        .add_option_function<std::string>(
                            "--shuffle", [&options](const std::string& seed) { options.shuffle = seed; },
                            "run the cases in an order that SEED shuffles; without it, --seed does")
                        ->group(group)
                        ->type_name("[SEED]")
                        ->expected(0, 1)
                        ->check(seed_or_nothing());
    auto* find = command.add_flag("--find-order", options.find_order, "find cases that depend on what ran before them")
                     ->group(group)
                     ->excludes(shrink)
                     ->excludes(command.get_option("--resume"));
    command.add_option("--in-order", options.in_order, "run these cases in one worker, in this order")
        ->group(group)
        ->type_name("ID")
        ->excludes(shuffle)
        ->excludes(find)
        ->excludes(command.get_option("--shard"));
}

}  // namespace

void add_test_command(CLI::App& app, int& code, int argc, char** argv) {
    auto options = std::make_shared<TestOptions>();
    options->command.assign(argv, argv + argc);
    CLI::App* command = app.add_subcommand("test", "hold an operator library to the float64 reference");
    add_common_options(*command, options->common);
    command->add_option("--suite", options->suite, "ops or runtime (docs/runtime.md)")
        ->check(known_suite())
        ->capture_default_str();
    add_variant_options(*command, options->variants);
    command->add_option("--accuracy", options->accuracy, "classes (docs/accuracy.md) or legacy (isclose and a ratio)")
        ->check(CLI::IsMember({"classes", "legacy"}))
        ->capture_default_str();
    command
        ->add_option("--checks", options->checks, "all, none, or some of guards, pages, inputs, poison, repeat, leaks")
        ->capture_default_str();
    command->add_option("--timeout", options->timeout_s, "seconds that one case may take")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command
        ->add_option("--memory-limit", options->memory_limit,
                     "memory of one worker, such as 4G; 0: no limit; by default a fair share")
        ->check(memory_size());
    command->add_option("--device-config", options->device_config,
                        "rules for a device: skips and tolerances (docs/device_config.md)");
    command->add_flag("--resume", options->resume, "go on with the journal in the run folder");
    command->add_option("--shard", options->shard, "run part K of N; slurm: that of the job array's task")
        ->type_name("K/N");
    add_repair_options(*command, *options);
    command->add_option("--csv", options->csv, "where the error report goes")->capture_default_str();
    command->add_option("--junit", options->junit, "also write JUnit XML");
    command->add_option("--save-failures", options->save_failures, "folder for a replay bundle of each failed call")
        ->type_name("DIR");
    command->add_option("--replay", options->replay, "run the call of a replay bundle again (docs/test.md)")
        ->type_name("FILE");
    command->footer(kExamples);
    command->callback([options, command, &code] {
        for (const CLI::Option* option : command->get_options()) {
            if (option->count() > 0) options->given.push_back(option->get_name());
        }
        code = run_test(*options);
    });
}

}  // namespace diopi
