/// diopi test: compares a backend with the float64 reference, case by case.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "bundle_origin.hpp"
#include "capture_source.hpp"
#include "cases/device_config.hpp"
#include "commands.hpp"
#include "conformance/conformance.hpp"
#include "conformance/rounds.hpp"
#include "environment.hpp"
#include "file/checksum.hpp"
#include "journal/case_order.hpp"
#include "journal/journal.hpp"
#include "options.hpp"
#include "order_command.hpp"
#include "replay/capture_cases.hpp"
#include "replay_command.hpp"
#include "report/collection.hpp"
#include "report/console.hpp"
#include "report/error_report.hpp"
#include "report/run_report.hpp"
#include "report/table.hpp"
#include "runtime/machine_text.hpp"
#include "runtime_suite_command.hpp"
#include "shrink_command.hpp"
#include "test_options.hpp"
#include "validators.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

/// The options after `diopi test` that run the smallest form of a case from its file.
std::string repeat_shrunk_text(TestOptions options, const Shrunk& shrunk, const std::string& file) {
    options.common.case_files = {file};
    options.variants = {};
    options.variants.layout = shrunk.smallest.layout;
    options.variants.four_bytes = shrunk.smallest.four_bytes;
    if (shrunk.after.verdict == Verdict::kTimeout) options.timeout_s = shrunk.timeout_s;
    return repeat_text(options);
}

/// Refuses options for the cases of operators, which the runtime suite cannot use.
Status refuse_for_runtime_suite(const TestOptions& options) {
    const bool is_about_order = options.shuffle || options.find_order || !options.in_order.empty();
    const bool is_adapted = !options.target.adaptor.empty() || !options.target.sim_config.empty();
    if (!options.shrink && !is_about_order && !is_adapted && options.record.file.empty()) return {};
    return bad_input(
        "--shrink, --shuffle, --find-order, --in-order, --record, --sim-config and --adaptor are for cases of "
        "operators: --suite ops");
}

/// Reads --device-config and applies it to the cases; warns about rules without effect. No rules without the option.
Result<DeviceConfig> configure(const TestOptions& options, std::vector<Case>& cases, DeviceConfigFigures& figures) {
    if (options.device_config.empty()) return DeviceConfig();
    auto config = read_device_config(options.device_config);
    if (!config.ok()) return config;
    const DeviceConfigUse use = apply_device_config(*config, cases);
    const auto warn = [](const std::string& line) { fmt::print(stderr, "diopi: warning: {}\n", line); };
    std::ranges::for_each(use.unknown, warn);
    // Few rules match some of the cases.
    const CommonOptions& common = options.common;
    const bool is_whole = common.model.empty() && !selects_cases(common);
    if (is_whole) std::ranges::for_each(use.unmatched, warn);
    figures = {config->file, config->device, {}, use.held};
    for (size_t i = 0; i < use.matched.size(); ++i) {
        const DeviceRule& rule = config->rules[i];
        figures.rules.push_back({rule.effect(), rule.reason, use.matched[i]});
    }
    return config;
}

/// The reason why a case is skipped: its dtypes, or a rule of the device configuration.
std::optional<std::string> skip_reason(const Case& c, const DtypeChoice& dtypes, const DeviceConfig& device) {
    auto reason = dtypes.skip_reason(c);
    return reason ? reason : device.skip_reason(c);
}

/// The level that goes on until its time is over.
constexpr int kEndless = 4;

/// Whether its atol and rtol replace the accuracy class.
bool has_own_tolerance(const Case& c) { return c.tolerance.instead != Tolerance::Instead::kNothing; }

/// The number of cases whose workers died.
size_t count_lost(const std::vector<CaseResult>& results) {
    return static_cast<size_t>(std::ranges::count_if(results, [](const CaseResult& result) {
        return result.verdict == Verdict::kCrashed || result.verdict == Verdict::kTimeout;
    }));
}

/// Writes the results after the cases: report, CSV, JUnit, JSON or summary.
Status write_reports(const ConformanceRun& run, const TestOptions& options, const RunFigures& figures) {
    if (Status s = write_report_files({options.csv, options.junit}, run.results, figures.options); !s.ok()) return s;
    if (options.common.json) {
        fmt::print("{}\n", summary_json(run.results, figures));
    } else {
        const ReportForm form{options.common.quiet, options.format == "seed", options.durations};
        fmt::print("{}", run_report(run.results, figures, form, screen_of(stdout)));
    }
    return {};
}

/// --replay with its options, and the first option that it does not take.
ReplayCommand replay_of(const TestOptions& options) {
    constexpr std::array kFitting = {
        "--replay", "--impl",  "--impl-runtime", "--impl-timeout", "--checks", "--timeout", "--memory-limit",
        "--json",   "--quiet", "--debug-level",  "--sim-config",   "--wait",   "--adaptor"};
    ReplayCommand replay{
        options.common, options.target, options.replay, std::nullopt, options.timeout_s, options.memory_limit, {}};
    for (const std::string& name : options.given) {
        if (name == "--checks") replay.checks = options.checks;
        const bool fits = std::ranges::find(kFitting, name) != kFitting.end();
        if (!fits && replay.misplaced.empty()) replay.misplaced = name;
    }
    return replay;
}

/// Refuses options of the cases of files: the calls of a capture have their own tensors and values.
Status refuse_for_capture(const TestOptions& options) {
    constexpr std::array kOthers = {"--model", "--cases",    "--level",  "--time",
                                    "--suite", "--in-order", "--shrink", "--find-order"};
    const auto is_other = [&](const std::string& name) { return std::ranges::find(kOthers, name) != kOthers.end(); };
    const auto other = std::ranges::find_if(options.given, is_other);
    const std::string variants = repeat_variants(options.variants);
    if (other == options.given.end() && variants.empty()) return {};
    const std::string name = other != options.given.end() ? *other : variants.substr(0, variants.find(' '));
    return bad_input(name + " cannot be used with --capture, whose calls have their own tensors; leave it out");
}

/// The chosen calls of --capture.
Result<std::vector<Case>> cases_of_capture(const TestOptions& options, const CaseChoice& choice) {
    if (Status s = refuse_for_capture(options); !s.ok()) return s.error();
    auto loaded = load_capture(options.capture, options.common);
    if (!loaded.ok()) return loaded.error();
    auto cases = capture_cases((*loaded)->capture, *(*loaded)->replay);
    if (!cases.ok()) return cases;
    std::vector<std::string> ids;
    std::ranges::transform(*cases, std::back_inserter(ids), &Case::id);
    if (const std::string* unknown = choice.ids.unmatched(ids)) {
        return bad_input("no call of the capture is like '" + *unknown + "'; --collect-only lists them");
    }
    std::erase_if(*cases, [&](const Case& c) {
        return !choice.ids.matches(c.id()) || !choice.ops.matches(c.op) || !choice.expression.matches(c);
    });
    if (cases->empty()) return bad_input("no call of the capture is all that the options ask for; leave one out");
    return cases;
}

/// Makes --save-failures ready for the run.
Status prepare_saving(const TestOptions& options, const Backend& backend, SaveFailures& save) {
    if (options.save_failures.empty()) return {};
    if (Status s = check_bundle_folder(options.save_failures); !s.ok()) return s;
    auto origin = bundle_origin(backend);
    if (!origin.ok()) return origin.status();
    save = {options.save_failures, std::move(*origin),
            [repeat = repeat_text(options)](const std::string& id) { return repeat_command(id, repeat); },
            std::filesystem::current_path()};
    return {};
}

/// A run over operators' cases: the files of the options, read and checked, and the selected cases.
class TestRun {
 public:
    explicit TestRun(const TestOptions& options) : options_(options), silent_(options.common.json) {}

    /// Returns the exit code of the program.
    int run() {
        if (Status s = prepare(); !s.ok()) return report_error(s.error());
        if (options_.common.debug_level > 0)
            fmt::print(stderr, "diopi: debug: {}\n", reference_backend().description());
        install_interrupt_handler();
        if (options_.collect_only) return print_cases();
        if (options_.find_order) return run_order_command({options_.common, conformance_, cases_});
        auto run = run_cases();
        if (!run.ok()) return report_error(run.error());
        sort_by_case(run->results);
        const RunFigures figures = figures_of(*run);
        if (Status s = write_reports(*run, options_, figures); !s.ok()) return report_error(s.error());
        if (Status s = recording_.finish(count_lost(run->results)); !s.ok()) return report_error(s.error());
        if (run->interrupted) {
            fmt::print(stderr,
                       "diopi: interrupted after {} of {} cases; diopi test --resume with the same options continues\n",
                       run->results.size(), cases_.size());
            return static_cast<int>(Exit::kInterrupted);
        }
        if (options_.shrink && failures_ > 0) {
            if (Status s = shrink_failures(run->results); !s.ok()) return report_error(s.error());
            if (interrupted()) return static_cast<int>(Exit::kInterrupted);
        }
        const bool lacks_any = options_.require_all && std::ranges::any_of(run->results, [](const CaseResult& result) {
                                   return result.verdict == Verdict::kNotImplemented;
                               });
        return static_cast<int>(failures_ > 0 || lacks_any ? Exit::kFailures : Exit::kPassed);
    }

 private:
    Status prepare() {
        if ((options_.level == kEndless) == options_.time.empty()) {
            return bad_input("--level 4 and --time belong together: --level 4 --time 8h");
        }
        if (Status s = read_options(); !s.ok()) return s;
        if (Status s = choose(); !s.ok()) return s;
        set_conformance();
        if (Status s = prepare_saving(options_, target_.backend(), conformance_.save); !s.ok()) return s;
        if (Status s = prepare_recording(); !s.ok()) return s;
        if (device_.rules.empty()) return {};
        auto checksum = checksum_of_file(options_.device_config);
        if (checksum.ok()) conformance_.device_config = *checksum;
        return checksum.status();
    }

    /// Makes --record ready: each case is an item of the recording.
    Status prepare_recording() {
        if (options_.record.file.empty()) return {};
        if (options_.variants.layout.wide) {
            return bad_input("--record: a capture of tensors over gigabytes takes gigabytes; leave --wide out");
        }
        auto recording = Recording::create(options_.record, "diopi test");
        if (!recording.ok()) return recording.status();
        recording_ = std::move(*recording);
        conformance_.cases.first_run = recording_.tool();
        conformance_.after_case = [this, leaks = conformance_.after_case](const Case& c) {
            const std::string problem = recording_.end_item(static_cast<size_t>(&c - cases_.data()));
            return leaks(c) + (problem.empty() ? "" : fmt::format("diopi: warning: {}: {}\n", c.id(), problem));
        };
        return {};
    }

    /// Reads the options that do not depend on the cases.
    Status read_options() {
        auto target =
            Target::find(options_.common.impl, options_.target, options_.common.loading, memory_check_options());
        if (!target.ok()) return target.status();
        target_ = std::move(*target);
        auto dtypes = dtypes_of(options_.common);
        if (!dtypes.ok()) return dtypes.status();
        dtypes_ = std::move(*dtypes);
        for (const std::string& path : {options_.csv, options_.junit}) {
            if (Status s = check_output_file(path); !s.ok()) return s;
        }
        auto checks = Checks::parse(options_.checks);
        if (!checks.ok()) return checks.status();
        const bool has_choice = options_.checks != TestOptions().checks;
        checks->refusals |= options_.level > 2 && !has_choice;
        conformance_.cases.checks = *checks;
        conformance_.cases.addresses = seed_of_addresses(options_);
        auto shard = chosen_shard(options_.shard);
        if (shard.ok()) shard_ = *shard;
        return shard.status();
    }

    /// Selects the cases after variants and the device configuration, and of these the cases of the shard.
    Status choose() {
        const CommonOptions& common = options_.common;
        auto choice = choice_of(common);
        if (!choice.ok()) return choice.status();
        // Hard cases have fills and layouts of their own.
        choice->level = repeat_variants(options_.variants).empty() ? options_.level : 1;
        choice->refusals = conformance_.cases.checks.refusals;
        choice->generated = CaseChoice::Generated::kAll;
        choice->seed = common.seed;
        choice_ = *choice;
        auto cases = !options_.capture.empty()   ? cases_of_capture(options_, *choice)
                     : options_.in_order.empty() ? choose_cases(*choice, target_.backend())
                                                 : choose_cases_in_order(*choice, options_.in_order, target_.backend());
        if (!cases.ok()) return cases.status();
        cases_ = std::move(*cases);
        keep_implemented(common, target_.backend(), cases_);
        auto without_variant = vary_cases(cases_, options_.variants);
        if (!without_variant.ok()) return without_variant.status();
        without_variant_ = std::move(*without_variant);
        if (options_.last_failed) {
            if (Status s = keep_last_failed(); !s.ok()) return s;
        }
        own_tolerances_ = std::ranges::count_if(cases_, has_own_tolerance);
        auto device = configure(options_, cases_, figures_);
        if (!device.ok()) return device.status();
        device_ = std::move(*device);
        conformance_.skip_reason = [this](const Case& c) { return reason_to_skip(c); };
        conformance_.selection = describe_selection(cases_, conformance_.skip_reason);
        if (shard_) keep_shard(cases_, *shard_, target_.backend(), conformance_.skip_reason);
        return {};
    }

    std::optional<std::string> reason_to_skip(const Case& c) const {
        auto reason = skip_reason(c, dtypes_, device_);
        const auto found = without_variant_.find(c.id());
        if (!reason && found != without_variant_.end()) reason = found->second;
        return reason;
    }

    void set_conformance() {
        conformance_.cases.backend = &target_.backend();
        conformance_.cases.adaptor = target_.adaptor();
        if (target_.sim() != nullptr) conformance_.cases.interceptors.push_back(target_.sim());
        conformance_.cases.seed = options_.common.seed;
        conformance_.cases.steps = options_.steps;
        conformance_.cases.legacy = options_.accuracy == "legacy";
        conformance_.order = run_order(options_);
        conformance_.budget_s = seconds_of_span(options_.budget);
        conformance_.max_failures = options_.exit_first ? 1 : options_.maxfail;
        conformance_.pool.jobs = options_.in_order.empty() ? worker_count(options_.common) : 1;
        conformance_.pool.timeout_s = options_.timeout_s;
        conformance_.pool.echo_errors = options_.common.debug_level > 1;
        // A wide tensor reserves gigabytes but uses little of them.
        if (options_.variants.layout.wide) conformance_.pool.memory_limit = 0;
        if (!options_.memory_limit.empty()) conformance_.pool.memory_limit = *parse_memory_size(options_.memory_limit);
        conformance_.data = options_.common.data;
        conformance_.run_folder = options_.common.run_folder;
        conformance_.resume = options_.resume;
        conformance_.after_case = [this](const Case& c) { return target_.leaks("in case " + c.id()); };
        conformance_.command = options_.common.command;
        conformance_.environment = machine_text();
        conformance_.repeat = repeat_text(options_);
        conformance_.shard = shard_ ? to_string(*shard_) : "";
    }

    RunFigures figures_of(const ConformanceRun& run) const {
        RunFigures figures{std::string(target_.backend().name()),
                           options_.common.seed,
                           run.seconds,
                           repeat_text(options_),
                           figures_,
                           own_tolerances_};
        if (options_.capture.empty()) figures.without_hard_cases = operators_without_hard_cases(cases_);
        const int64_t most = conformance_.max_failures;
        const bool has_failed = most > 0 && failures_ >= most;
        const bool has_end = !options_.budget.empty() || has_failed;
        if (has_end && !run.interrupted) figures.left_out = static_cast<int64_t>(cases_.size() - run.results.size());
        figures.end_reason = has_failed ? fmt::format("{} failed (--maxfail)", counted(failures_, "case"))
                                        : "the time of --budget was over";
        return figures;
    }

    /// A terminal shows the progress, and the cases that do not pass; a pipe gets the line of each case.
    LogLevel least_level() const {
        if (options_.common.debug_level > 0) return LogLevel::kDebug;
        if (options_.common.quiet) return LogLevel::kError;
        const bool wants_lines = options_.verbose || options_.format == "seed" || !is_terminal(stdout);
        return wants_lines ? LogLevel::kInfo : LogLevel::kWarning;
    }

    /// --collect-only: the ids of the cases, with the reasons of those that would not run.
    int print_cases() const {
        std::vector<CollectedCase> collected;
        for (const Case& c : cases_) {
            const auto reason = reason_to_skip(c);
            const bool is_there = target_.backend().implements(c.op);
            collected.push_back({c.id(), reason ? "skipped: " + *reason : is_there ? "" : "not implemented"});
        }
        fmt::print("{}",
                   silent_ ? collection_json(collected) + "\n" : collection_text(collected, options_.common.quiet));
        return static_cast<int>(Exit::kPassed);
    }

    /// Keeps the cases that failed in the last run, which must have had the same options.
    Status keep_last_failed() {
        const std::string path = journal_path(options_.common.run_folder);
        if (!std::filesystem::exists(path)) {
            return bad_input("--last-failed: there is no run in " + options_.common.run_folder +
                             "; name its folder with --run");
        }
        auto journal = read_journal(path);
        if (!journal.ok()) return journal.status();
        if (journal->header.repeat != repeat_text(options_)) {
            return bad_input("--last-failed: the run in " + options_.common.run_folder + " had the options '" +
                             journal->header.repeat + "'; give the same ones");
        }
        std::set<std::string> failed_ids;
        for (const CaseResult& result : journal->results) {
            if (is_failure(result.verdict)) failed_ids.insert(result.case_id);
        }
        std::erase_if(cases_, [&](const Case& c) { return !failed_ids.contains(c.id()); });
        return {};
    }

    /// Prints the lines before the first case.
    void announce() const {
        if (silent_) return;
        if (conformance_.order.by == RunOrder::By::kShuffle) {
            fmt::print("shuffled: --shuffle {} gives this order again\n", conformance_.order.seed);
        }
        if (shard_) {
            fmt::print("shard {}: {} of {} cases\n", conformance_.shard, cases_.size(), conformance_.selection.cases);
        }
    }

    Result<ConformanceRun> run_cases() {
        announce();
        Console console({silent_ ? stderr : stdout, least_level(), !silent_});
        console.start(static_cast<int64_t>(cases_.size()));
        std::optional<ShareOfWork> work;
        if (console.has_bar() && options_.level < kEndless) {
            work.emplace(cases_, target_.backend(), conformance_.skip_reason, conformance_.pool.jobs);
        }
        conformance_.on_warning = [&](const std::string& text) {
            if (silent_) {
                fmt::print(stderr, "diopi: warning: {}\n", text);
            } else {
                console.log(LogLevel::kWarning, text);
            }
        };
        const auto on_result = [&](const CaseResult& result, int64_t done, int64_t) {
            if (is_failure(result.verdict)) ++failures_;
            fmt::print(stderr, "{}", result.notes);
            for (const LogMessage& message : messages_of(result, conformance_.repeat, options_.verbose)) {
                if (!silent_) console.log(message.level, message.text);
            }
            console.advance(done, failures_,
                            work ? std::optional(work->after(result.case_id, console.elapsed())) : std::nullopt);
        };
        auto run = options_.level < kEndless
                       ? run_conformance(cases_, conformance_, on_result)
                       : run_rounds(
                             rounds(), conformance_,
                             [&](uint64_t round, int64_t cases) { announce_round(console, round, cases); }, on_result);
        conformance_.on_warning = {};
        return run;
    }

    /// The rounds of --level 4: hard cases of the seeds after the run's own.
    Rounds rounds() {
        constexpr size_t kRepeated = 30;
        Rounds rounds{cases_, {}, {}, seconds_of_span(options_.time)};
        std::map<std::string, size_t> of_operator;
        for (const Case& c : cases_) {
            const bool is_repeated = c.suite == kHardSuite && of_operator[c.op]++ < kRepeated;
            if (is_repeated) rounds.repeated.push_back(c);
        }
        rounds.next = [this](uint64_t round) {
            CaseChoice choice = choice_;
            choice.seed += round;
            choice.refusals = false;
            std::vector<Case> cases = generated_cases(choice, target_.backend());
            static_cast<void>(apply_device_config(device_, cases));
            return cases;
        };
        return rounds;
    }

    void announce_round(Console& console, uint64_t round, int64_t cases) const {
        console.start(cases);
        if (silent_) return;
        console.print(fmt::format("round {}: {} cases, hard ones of seed {}", round, cases, choice_.seed + round));
    }

    Status shrink_failures(const std::vector<CaseResult>& results) {
        conformance_.cases.first_run = nullptr;
        ShrinkCommand shrinking{options_.common, conformance_, cases_, results, options_.shrink_time_s, {}, {}};
        shrinking.prepare = [&](Case& c) {
            std::vector<Case> one = {c};
            static_cast<void>(apply_device_config(device_, one));
            c = std::move(one.front());
            return !skip_reason(c, dtypes_, device_);
        };
        shrinking.repeat = [&](const Shrunk& shrunk, const std::string& file) {
            return repeat_shrunk_text(options_, shrunk, file);
        };
        return run_shrink_command(shrinking);
    }

    const TestOptions& options_;
    const bool silent_;  ///< standard output has JSON
    Target target_;
    DtypeChoice dtypes_;
    std::optional<Shard> shard_;
    std::vector<Case> cases_;
    std::map<std::string, std::string> without_variant_;  ///< by case id: why the case has no such variant
    DeviceConfig device_;
    DeviceConfigFigures figures_;
    int64_t own_tolerances_ = 0;
    CaseChoice choice_;
    ConformanceOptions conformance_;
    Recording recording_;
    int64_t failures_ = 0;
};

int run_test(const TestOptions& options) {
    if (!options.replay.empty()) return run_replay_command(replay_of(options));
    if (options.suite == "runtime") {
        if (Status s = refuse_for_runtime_suite(options); !s.ok()) return report_error(s.error());
        return run_runtime_suite_command(
            {options.common, options.csv, options.junit, options.timeout_s, options.resume});
    }
    return TestRun(options).run();
}

}  // namespace

void add_test_command(CLI::App& app, int& code, const CommandLine& line) {
    auto options = std::make_shared<TestOptions>();
    options->common.command = line;
    CLI::App* command = app.add_subcommand("test", "test an operator library against the float64 reference");
    add_test_options(*command, *options);
    command->callback([options, command, &code] {
        for (const CLI::Option* option : command->get_options()) {
            if (option->count() > 0) options->given.push_back(option->get_name());
        }
        code = run_test(*options);
    });
}

}  // namespace diopi
