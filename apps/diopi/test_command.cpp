/// diopi test: compares a backend with the float64 reference, case by case.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "bundle_origin.hpp"
#include "cases/device_config.hpp"
#include "commands.hpp"
#include "conformance/conformance.hpp"
#include "conformance/rounds.hpp"
#include "core/suggest.hpp"
#include "environment.hpp"
#include "file/checksum.hpp"
#include "journal/case_order.hpp"
#include "options.hpp"
#include "order_command.hpp"
#include "record_options.hpp"
#include "replay_command.hpp"
#include "report/console.hpp"
#include "report/error_report.hpp"
#include "report/run_report.hpp"
#include "runtime_suite_command.hpp"
#include "shrink_command.hpp"
#include "target_options.hpp"
#include "validators.hpp"
#include "variant_options.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

struct TestOptions {
    CommonOptions common;
    TargetOptions target;
    std::string suite = "ops";
    VariantFlags variants;
    std::string accuracy = "classes";
    std::vector<std::string> checks = {"all"};
    int level = 2;
    std::string time, budget;  ///< as written; empty: none
    std::vector<std::string> steps;
    bool require_all = false;
    std::string csv = "error_report.csv";
    std::string junit;
    std::string device_config;
    double timeout_s = kCaseTimeout_s;
    std::string memory_limit;
    bool resume = false;
    std::string shard;
    bool shrink = false;
    double shrink_time_s = 60;
    std::optional<std::string> shuffle;  ///< the seed as written; empty: the seed of the run
    bool find_order = false;
    std::optional<uint64_t> addresses;
    std::vector<std::string> in_order;
    std::string save_failures;
    std::string replay;
    RecordFlags record;
    std::vector<std::string> given;  ///< options on the command line, by name
    std::vector<std::string> command;
};

constexpr const char* kTestExamples =
    "Examples:\n"
    "  diopi test --fname add --filter-dtype float64   every case of add without float64\n"
    "  diopi test --model resnet50                     the calls of ResNet-50's training\n"
    "  diopi test --case ops/relu.relu.3               one case again\n"
    "  diopi test --suite runtime                      the device, streams, tensors, generators\n"
    "  diopi test --fname linear --fill exact          whole numbers, whose sums of products are exact\n"
    "  diopi test --save-failures bad                  and a replay bundle of each failure, in folder bad\n"
    "  diopi test --replay bad/X.h5                    such a bundle again, on any machine\n"
    "  diopi test --resume                             continue an interrupted run\n"
    "  diopi test --shard 2/4 --run night/shard_2      the second of four machines\n"
    "  diopi test --case ops/relu.relu.3 --shrink      the smallest case that fails in the same way\n"
    "  diopi test --fname add --find-order             do verdicts depend on earlier cases?\n";

CLI::Validator memory_size() {
    const auto check = [](const std::string& text) {
        const auto size = parse_memory_size(text);
        return size.ok() ? std::string() : size.error().message;
    };
    return {check, ""};
}

/// The seed of --shuffle.
uint64_t seed_of_shuffle(const TestOptions& options) {
    return options.shuffle->empty() ? options.common.seed : std::stoull(*options.shuffle);
}

RunOrder run_order(const TestOptions& options) {
    if (!options.in_order.empty()) return {RunOrder::By::kGiven};
    if (!options.shuffle) return {options.budget.empty() ? RunOrder::By::kCost : RunOrder::By::kValue};
    return {RunOrder::By::kShuffle, seed_of_shuffle(options)};
}

/// A shuffled run has memory at other addresses, too.
std::optional<uint64_t> seed_of_addresses(const TestOptions& options) {
    if (options.addresses || !options.shuffle || options.find_order) return options.addresses;
    return seed_of_shuffle(options);
}

std::string repeat_text(const TestOptions& options) {
    std::string text = repeat_options(options.common);
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (const std::string target = repeat_target_options(options.target); !target.empty()) append(target);
    if (const std::string variants = repeat_variants(options.variants); !variants.empty()) append(variants);
    if (options.accuracy != "classes") append("--accuracy " + options.accuracy);
    if (options.checks != TestOptions().checks) append(fmt::format("--checks {}", fmt::join(options.checks, " ")));
    if (!options.steps.empty()) append(fmt::format("--steps {}", fmt::join(options.steps, " ")));
    if (!options.device_config.empty()) append("--device-config " + shell_quoted(options.device_config));
    if (!options.memory_limit.empty()) append("--memory-limit " + options.memory_limit);
    if (const auto addresses = seed_of_addresses(options)) append(fmt::format("--addresses {}", *addresses));
    if (const std::string timeout = repeat_timeout(options.timeout_s); !timeout.empty()) append(timeout);
    return text;
}

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
    const bool is_whole = common.case_id.empty() && common.fname.empty() && common.model.empty();
    if (is_whole) std::ranges::for_each(use.unmatched, warn);
    figures = {config->file, config->device, {}, use.held};
    for (size_t i = 0; i < use.matched.size(); ++i) {
        const DeviceRule& rule = config->rules[i];
        figures.rules.push_back({rule.effect(), rule.reason, use.matched[i]});
    }
    return config;
}

/// The reason why a case is skipped: a dtype of --filter-dtype, or a rule of the device configuration.
std::optional<std::string> skip_reason(const Case& c, const std::vector<Dtype>& filtered, const DeviceConfig& device) {
    const auto found = std::ranges::find_if(filtered, [&](Dtype dtype) { return c.uses(dtype); });
    if (found != filtered.end()) return fmt::format("uses {} (--filter-dtype)", name(*found));
    return device.skip_reason(c);
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
        fmt::print("{}", run_report(run.results, figures, options.common.quiet, screen_of(stdout)));
    }
    return {};
}

/// Checks the value of --shuffle.
CLI::Validator seed_or_nothing() {
    const auto check = [](const std::string& text) {
        uint64_t seed = 0;
        const bool is_valid = text.empty() || (text.front() != '-' && CLI::detail::lexical_cast(text, seed));
        return is_valid ? std::string() : "'" + text + "' is no seed: a whole number from 0 on";
    };
    return {check, ""};
}

/// Accepts the name of a suite.
CLI::Validator known_suite() {
    const auto check = [](const std::string& text) {
        const std::vector<std::string> known = {"ops", "runtime"};
        if (std::ranges::find(known, text) != known.end()) return std::string();
        const std::string hint = did_you_mean(text, known);
        return "there is no suite '" + text + "'" + (hint.empty() ? "; there are: ops, runtime" : hint);
    };
    return {check, ""};
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
        auto filtered = parse_dtypes(options_.common.filter_dtype);
        if (!filtered.ok()) return filtered.status();
        filtered_ = std::move(*filtered);
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
        CaseChoice choice = choice_of(common);
        // Hard cases have fills and layouts of their own.
        choice.level = repeat_variants(options_.variants).empty() ? options_.level : 1;
        choice.refusals = conformance_.cases.checks.refusals;
        choice.generated = CaseChoice::Generated::kAll;
        choice.seed = common.seed;
        choice_ = choice;
        auto cases = options_.in_order.empty() ? choose_cases(choice, target_.backend())
                                               : choose_cases_in_order(choice, options_.in_order, target_.backend());
        if (!cases.ok()) return cases.status();
        cases_ = std::move(*cases);
        keep_implemented(common, target_.backend(), cases_);
        auto without_variant = vary_cases(cases_, options_.variants);
        if (!without_variant.ok()) return without_variant.status();
        without_variant_ = std::move(*without_variant);
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
        auto reason = skip_reason(c, filtered_, device_);
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
        conformance_.command = options_.command;
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
        figures.without_hard_cases = operators_without_hard_cases(cases_);
        const bool has_end = !options_.budget.empty() && !run.interrupted;
        if (has_end) figures.left_out = static_cast<int64_t>(cases_.size() - run.results.size());
        return figures;
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
        const LogLevel usual = options_.common.debug_level > 0 ? LogLevel::kDebug : LogLevel::kInfo;
        const LogLevel least = options_.common.quiet ? LogLevel::kError : usual;
        Console console({silent_ ? stderr : stdout, least, !silent_});
        console.start(static_cast<int64_t>(cases_.size()));
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
            for (const LogMessage& message : messages_of(result, conformance_.repeat)) {
                if (!silent_) console.log(message.level, message.text);
            }
            console.advance(done, failures_);
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
            return !skip_reason(c, filtered_, device_);
        };
        shrinking.repeat = [&](const Shrunk& shrunk, const std::string& file) {
            return repeat_shrunk_text(options_, shrunk, file);
        };
        return run_shrink_command(shrinking);
    }

    const TestOptions& options_;
    const bool silent_;  ///< standard output has JSON
    Target target_;
    std::vector<Dtype> filtered_;
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
            {options.common, options.csv, options.junit, options.timeout_s, options.resume, options.command});
    }
    return TestRun(options).run();
}

/// Options that change the order of a run, or make a failing case smaller (docs/shrink.md).
void add_diagnosis_options(CLI::App& command, TestOptions& options) {
    const char* group = "Failure analysis";
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
                            "run the cases in an order, and with memory, that SEED shuffles; default --seed")
                        ->group(group)
                        ->type_name("[SEED]")
                        ->expected(0, 1)
                        ->check(seed_or_nothing());
    command.add_option("--addresses", options.addresses, "move tensors in memory, as --shuffle does: a seed")
        ->group(group)
        ->type_name("SEED");
    auto* find =
        command.add_flag("--find-order", options.find_order, "find cases that depend on earlier cases or on addresses")
            ->group(group)
            ->excludes(shrink)
            ->excludes(command.get_option("--addresses"))
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
    CLI::App* command = app.add_subcommand("test", "test an operator library against the float64 reference");
    add_common_options(*command, options->common);
    add_implemented_option(*command, options->common);
    command->add_option("--suite", options->suite, "ops or runtime (docs/runtime.md)")
        ->check(known_suite())
        ->capture_default_str();
    add_target_options(*command, options->target);
    add_variant_options(*command, options->variants);
    command->add_option("--accuracy", options->accuracy, "classes (docs/accuracy.md) or legacy (isclose and a ratio)")
        ->check(CLI::IsMember({"classes", "legacy"}))
        ->capture_default_str();
    command
        ->add_option("--checks", options->checks,
                     "all, none, or some: guards, poison, history, refusals, ... (docs/test.md)")
        ->capture_default_str();
    command
        ->add_option("--level", options->level,
                     "1: the standard's cases; 2: and some hard cases; 3: all; 4: endless (--time)")
        ->check(CLI::Range(1, 4))
        ->capture_default_str();
    command->add_option("--time", options->time, "with --level 4: how long, such as 8h (docs/hard-cases.md)")
        ->check(time_span());
    command->add_option("--budget", options->budget, "a time such as 60s: the most telling cases first, then an end")
        ->check(time_span());
    command->add_option("--steps", options->steps, "steps of each case: forward, inplace, backward (default: all)")
        ->check(CLI::IsMember({"forward", "inplace", "backward"}));
    command->add_flag("--require-all", options->require_all, "a case that is not implemented also fails the run");
    command->add_option("--timeout", options->timeout_s, "seconds that one case may take")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command
        ->add_option("--memory-limit", options->memory_limit,
                     "memory of one worker, such as 4G; 0: no limit; default: an equal share")
        ->check(memory_size());
    command->add_option("--device-config", options->device_config,
                        "rules for a device: skips and tolerances (docs/device_config.md)");
    command->add_flag("--resume", options->resume, "continue with the journal in the run folder");
    command->add_option("--shard", options->shard, "run part K of N; slurm: that of the job array's task")
        ->type_name("K/N");
    add_diagnosis_options(*command, *options);
    command->add_option("--csv", options->csv, "path of the error report")->capture_default_str();
    command->add_option("--junit", options->junit, "also write JUnit XML");
    command->add_option("--save-failures", options->save_failures, "folder for a replay bundle of each failed call")
        ->type_name("DIR");
    command->add_option("--replay", options->replay, "run the call of a replay bundle again (docs/test.md)")
        ->type_name("FILE");
    add_record_options(*command, options->record, "--record,--capture")
        ->excludes(command->get_option("--resume"))
        ->excludes(command->get_option("--find-order"));
    command->footer(kTestExamples);
    command->callback([options, command, &code] {
        for (const CLI::Option* option : command->get_options()) {
            if (option->count() > 0) options->given.push_back(option->get_name());
        }
        code = run_test(*options);
    });
}

}  // namespace diopi
