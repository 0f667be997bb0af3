/// diopi fallback-sim: simulates that some operators run on the CPU, and finds those that cause a failure.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "capture_source.hpp"
#include "commands.hpp"
#include "core/suggest.hpp"
#include "environment.hpp"
#include "record_options.hpp"
#include "replay/bisect.hpp"
#include "replay/fallback_run.hpp"
#include "report/adaptor_table.hpp"
#include "report/error_report.hpp"
#include "report/fallback_report.hpp"
#include "target_options.hpp"
#include "validators.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

struct FallbackSimOptions {
    CommonOptions common;
    RecordFlags record;
    TargetOptions target;
    std::string capture;
    std::optional<std::string> ops, except;  ///< lists; those of the environment if none is given
    std::vector<std::string> operators;      ///< without an option; they join --ops
    std::string other = "cpu";
    std::string format = "table";
    int run_times = 3;
    double tolerance = 1e-2;
    double timeout_s = 600;
    bool bisect = false;
    int repeats = 1;
    int call_replays = 0;
};

/// Everything that a run needs.
struct Subject {
    Target target;
    Implementation other;
    std::unique_ptr<LoadedCapture> loaded;
    FallbackLists lists;
};

/// Parses a list; `from` is the option or the variable that holds the text.
Result<std::optional<NameList>> list_of(const std::string& text, const char* from) {
    if (text.empty()) return std::optional<NameList>();
    auto list = NameList::parse(text);
    if (!list.ok()) return bad_input(fmt::format("{}: {}", from, list.error().message));
    return std::optional<NameList>(std::move(*list));
}

Result<FallbackLists> lists_of(const FallbackSimOptions& options) {
    FallbackLists lists;
    if (options.bisect) return lists;
    const Environment environment = read_environment();
    const bool given = options.ops || options.except || !options.operators.empty();
    std::vector<std::string> named = options.operators;
    if (options.ops) named.push_back(*options.ops);
    auto only = given ? list_of(fmt::format("{}", fmt::join(named, ",")), "--ops")
                      : list_of(environment.fallback_list, "DIPU_FORCE_FALLBACK_OPS_LIST or OP_FALLBACK_LIST");
    if (!only.ok()) return only.error();
    auto except = given ? list_of(options.except.value_or(""), "--except")
                        : list_of(environment.fallback_disable_list, "OP_FALLBACK_DISABLE_LIST");
    if (!except.ok()) return except.error();
    lists.only = std::move(*only);
    lists.except = std::move(*except);
    return lists;
}

/// Refuses options that cannot be combined.
Status check_options(const FallbackSimOptions& options) {
    if (options.bisect && (options.ops || options.except || !options.operators.empty())) {
        return bad_input("--bisect chooses the operators itself; leave out --ops and --except");
    }
    if (options.bisect && !options.record.file.empty()) {
        return bad_input("--bisect replays many times; record one replay without it");
    }
    if (options.bisect && options.format == "seed") {
        return bad_input("--bisect has no lines in the seed's format; use --json, or leave out --format");
    }
    if (!options.bisect && (options.repeats > 1 || options.call_replays > 0)) {
        return bad_input("--repeats and --call-replays belong to --bisect; --run-times says how many steps are timed");
    }
    return {};
}

Result<Subject> subject_of(const FallbackSimOptions& options) {
    auto target = Target::find(options.common.impl, options.target, options.common.loading, memory_check_options());
    if (!target.ok()) return target.error();
    auto other = Implementation::find(options.other, options.common.loading);
    if (!other.ok()) return other.error();
    auto lists = lists_of(options);
    if (!lists.ok()) return lists.error();
    auto loaded = load_capture(options.capture, options.common);
    if (!loaded.ok()) return loaded.error();
    return Subject{std::move(*target), std::move(*other), std::move(*loaded), std::move(*lists)};
}

/// Runs in the worker; answers with JSON.
WorkAnswer simulate(Subject& subject, const FallbackSimOptions& options, Recording& recording) {
    FallbackRunOptions run;
    run.backend = &subject.target.backend();
    run.sim = subject.target.sim();
    run.adaptor = subject.target.adaptor();
    run.other = &*subject.other;
    run.run_times = options.run_times;
    run.tolerance = options.tolerance;
    run.first_iteration = recording.tool();
    run.lines = options.format == "seed";
    auto record = simulate_fallback(*subject.loaded->replay, subject.loaded->capture, subject.lists, run);
    if (!record.ok()) return {.status = record.status()};
    record->backend = run.backend->name();
    record->other = run.other->name();
    if (const std::string unrecorded = recording.end_item(0); !unrecorded.empty())
        return {.status = failed(unrecorded)};
    return {to_json(*record)};
}

int print_answer(Subject& subject, const FallbackSimOptions& options, const WorkOutcome& outcome) {
    if (!outcome.status.ok()) {
        fmt::print(stderr, "diopi: {}: {}\n", subject.loaded->path, outcome.status.message());
        return static_cast<int>(Exit::kFailures);
    }
    const FallbackRecord record = fallback_from_json(outcome.payload);
    const Capture& capture = subject.loaded->capture;
    for (const std::string& item : record.unmatched) {
        fmt::print(stderr, "diopi: '{}' matches no call of {}{}\n", item, capture.name,
                   did_you_mean(item, call_names(capture)));
    }
    if (options.common.json) {
        fmt::print("{}\n", outcome.payload);
    } else if (options.format == "seed") {
        for (const std::string& overload : kept_on_device(capture, subject.lists)) {
            fmt::print("skip OpFallbackHook on {}\n", overload);
        }
        fmt::print("{}", fallback_seed_lines(record));
    } else {
        const Screen screen = screen_of(stdout);
        fmt::print("{}{}", fallback_text(record, screen), adapted_text(subject.target.adapted(), screen));
    }
    if (options.common.json || options.format != "table") print_adapted(subject.target.adapted());
    const Status kept = keep_report_of(options.common, "fallback", outcome.payload);
    return kept.ok() ? static_cast<int>(Exit::kPassed) : report_error(kept.error());
}

/// Runs in one worker, so that a device that crashes or hangs gives a message.
int run_simulation(Subject& subject, const FallbackSimOptions& options) {
    auto recording = Recording::create(options.record, "diopi fallback-sim");
    if (!recording.ok()) return report_error(recording.error());
    PoolOptions pool;
    pool.timeout_s = options.timeout_s;
    pool.memory_limit = 0;
    int code = static_cast<int>(Exit::kInterrupted);
    const auto work = [&](size_t) {
        try {
            return simulate(subject, options, *recording);
        } catch (const std::exception& e) {
            return WorkAnswer{.status = failed(e.what())};
        }
    };
    const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
        code = print_answer(subject, options, outcome);
        return Status();
    };
    Status s = run_in_workers({0}, pool, work, done);
    if (s.ok()) s = recording->finish();
    return s.ok() ? code : report_error(s.error());
}

std::string repeat_of(const FallbackSimOptions& options, const BisectRecord& record) {
    std::string text = "diopi fallback-sim";
    text += options.capture.empty() ? " --model " + shell_quoted(options.common.model)
                                    : " --capture " + shell_quoted(options.capture);
    text += " --ops ";
    for (const BisectRecord::Function& one : record.functions) {
        text += (&one == record.functions.data() ? "" : ",") + one.function;
    }
    if (options.common.impl != "sim") text += " --impl " + shell_quoted(options.common.impl);
    if (const std::string library = repeat_library_options(options.common.loading); !library.empty())
        text += " " + library;
    if (options.other != "cpu") text += " --to " + shell_quoted(options.other);
    if (const std::string target = repeat_target_options(options.target); !target.empty()) text += " " + target;
    if (options.common.seed != 0) text += fmt::format(" --seed {}", options.common.seed);
    return text;
}

int run_bisection(Subject& subject, const FallbackSimOptions& options) {
    BisectOptions bisection;
    bisection.backend = &subject.target.backend();
    bisection.sim = subject.target.sim();
    if (subject.target.adaptor() != nullptr) bisection.interceptors.push_back(subject.target.adaptor());
    bisection.other = &*subject.other;
    bisection.tolerance = options.tolerance;
    bisection.timeout_s = options.timeout_s;
    bisection.repeats = options.repeats;
    bisection.call_replays = options.call_replays;
    int replays = 0;
    bisection.on_replay = [&](size_t fallback, size_t units, const Trial& trial) {
        if (options.common.quiet) return;
        fmt::print(stderr, "replay {}: {} of {} fall back: {}\n", ++replays, fallback, units,
                   trial.passed ? "passes" : trial.reason);
    };
    const LoadedCapture& loaded = *subject.loaded;
    auto report = bisect(*subject.loaded->replay, loaded.capture, loaded.values, bisection);
    if (!report.ok()) {
        fmt::print(stderr, "diopi: {}: {}\n", loaded.path, report.error().message);
        return static_cast<int>(Exit::kFailures);
    }
    BisectRecord record = to_record(*report, loaded.capture);
    record.backend = subject.target.backend().name();
    record.other = subject.other->name();
    const std::string json = bisect_json(record);
    if (options.common.json)
        fmt::print("{}\n", json);
    else
        fmt::print("{}", bisect_text(record, repeat_of(options, record)));
    if (Status s = keep_report_of(options.common, "bisect", json); !s.ok()) return report_error(s.error());
    const bool is_interrupted = record.end == SearchEnd::kInterrupted || record.calls_end == SearchEnd::kInterrupted;
    if (is_interrupted) return static_cast<int>(Exit::kInterrupted);
    return static_cast<int>(record.end == SearchEnd::kNothingWrong ? Exit::kPassed : Exit::kFailures);
}

int run_fallback_sim(const FallbackSimOptions& options) {
    if (Status s = check_options(options); !s.ok()) return report_error(s.error());
    auto subject = subject_of(options);
    if (!subject.ok()) return report_error(subject.error());
    install_interrupt_handler();
    return options.bisect ? run_bisection(*subject, options) : run_simulation(*subject, options);
}

}  // namespace

void add_fallback_sim_command(CLI::App& app, int& code, const CommandLine& line) {
    auto options = std::make_shared<FallbackSimOptions>();
    options->common.command = line;
    options->common.impl = "sim";
    CLI::App* command = app.add_subcommand("fallback-sim", "what if these operators ran on the CPU");
    add_replay_options(*command, options->common);
    add_capture_option(*command, options->capture);
    command->add_option("--ops", options->ops, "operators that fall back: add,.*\\.Scalar (docs/fallback.md)");
    command->add_option("operator", options->operators, "operators that fall back, as --ops");
    command->add_option("--except", options->except, "all others fall back; default OP_FALLBACK_DISABLE_LIST");
    command->add_option("--to", options->other, "library that computes the fallbacks")->capture_default_str();
    command->add_option("--run-times", options->run_times, "steps that are timed")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    command
        ->add_option("--tolerance", options->tolerance,
                     "tolerance of a result, relative to its root mean square and to each element")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    command->add_option("--timeout", options->timeout_s, "seconds for the replay, with --bisect for each")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command->add_option("--format", options->format, "table, or seed: the lines that the standard's users know")
        ->check(CLI::IsMember({"table", "seed"}))
        ->capture_default_str();
    add_target_options(*command, options->target);
    add_record_options(*command, options->record);
    command->add_flag("--bisect", options->bisect, "find the fewest operators whose fallback makes the capture pass");
    command->add_option("--repeats", options->repeats, "with --bisect: replays in a row that must pass")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command
        ->add_option("--call-replays", options->call_replays,
                     "with --bisect: the most replays that look for single calls")
        ->check(CLI::Range(1, 1000000));
    command->footer(
        "Examples:\n"
        "  diopi fallback-sim 'convolution.*' --model resnet18\n"
        "  diopi fallback-sim --capture step.json --except 'mm,addmm' --sim-config chip.json\n"
        "  diopi fallback-sim --model resnet18 --impl cpu --bisect");
    command->callback([options, &code] { code = run_fallback_sim(*options); });
}

}  // namespace diopi
