#include "test_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "capture_source.hpp"
#include "core/suggest.hpp"
#include "report/error_report.hpp"
#include "validators.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

constexpr const char* kTestExamples =
    "Examples:\n"
    "  diopi test --fname add --filter-dtype float64   every case of add without float64\n"
    "  diopi test --model resnet50                     the calls of ResNet-50's training\n"
    "  diopi test --capture decoder                    the calls of a capture, each on its own\n"
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

/// The seed of --shuffle.
uint64_t seed_of_shuffle(const TestOptions& options) {
    return options.shuffle->empty() ? options.common.seed : std::stoull(*options.shuffle);
}

/// Options that change the order of a run, or make a failing case smaller (docs/shrink.md).
void add_diagnosis_options(CLI::App& command, TestOptions& options) {
    auto* shrink = command.add_flag("--shrink", options.shrink, "find the smallest form of each failing case");
    command.add_option("--shrink-time", options.shrink_time_s, "seconds that the search for one case may take")
        ->needs(shrink)
        ->check(seconds_above_zero())
        ->capture_default_str();
    auto* shuffle = command
                        .add_option_function<std::string>(
                            "--shuffle", [&options](const std::string& seed) { options.shuffle = seed; },
                            "run the cases in an order, and with memory, that SEED shuffles; default --seed")
                        ->type_name("[SEED]")
                        ->expected(0, 1)
                        ->check(seed_or_nothing());
    command.add_option("--addresses", options.addresses, "move tensors in memory, as --shuffle does: a seed")
        ->type_name("SEED");
    auto* find =
        command.add_flag("--find-order", options.find_order, "find cases that depend on earlier cases or on addresses")
            ->excludes(shrink)
            ->excludes(command.get_option("--addresses"))
            ->excludes(command.get_option("--resume"));
    command.add_option("--in-order", options.in_order, "run these cases in one worker, in this order")
        ->type_name("ID")
        ->excludes(shuffle)
        ->excludes(find)
        ->excludes(command.get_option("--shard"));
}

}  // namespace

RunOrder run_order(const TestOptions& options) {
    if (!options.in_order.empty()) return {RunOrder::By::kGiven};
    if (!options.shuffle && !options.budget.empty()) return {RunOrder::By::kValue};
    if (!options.shuffle) return {options.common.model == "all" ? RunOrder::By::kQuick : RunOrder::By::kCost};
    return {RunOrder::By::kShuffle, seed_of_shuffle(options)};
}

std::optional<uint64_t> seed_of_addresses(const TestOptions& options) {
    if (options.addresses || !options.shuffle || options.find_order) return options.addresses;
    return seed_of_shuffle(options);
}

std::string repeat_text(const TestOptions& options) {
    std::string text = repeat_options(options.common);
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (const std::string target = repeat_target_options(options.target); !target.empty()) append(target);
    if (!options.capture.empty()) append("--capture " + shell_quoted(options.capture));
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

void add_test_options(CLI::App& command, TestOptions& options) {
    add_common_options(command, options.common);
    add_implemented_option(command, options.common);
    command.add_option("--suite", options.suite, "ops or runtime (docs/runtime.md)")
        ->check(known_suite())
        ->capture_default_str();
    add_target_options(command, options.target);
    add_variant_options(command, options.variants);
    command.add_option("--accuracy", options.accuracy, "classes (docs/accuracy.md) or legacy (isclose and a ratio)")
        ->check(CLI::IsMember({"classes", "legacy"}))
        ->capture_default_str();
    command
        .add_option("--checks", options.checks,
                    "all, none, or some: guards, poison, history, refusals, ... (docs/test.md)")
        ->capture_default_str();
    command
        .add_option("--level", options.level,
                    "1: the standard's cases; 2: and some hard cases; 3: all; 4: endless (--time)")
        ->check(CLI::Range(1, 4))
        ->capture_default_str();
    command.add_option("--time", options.time, "with --level 4: how long, such as 8h (docs/hard-cases.md)")
        ->check(time_span());
    command.add_option("--budget", options.budget, "a time such as 60s: the most telling cases first, then an end")
        ->check(time_span());
    command.add_option("--steps", options.steps, "steps of each case: forward, inplace, backward (default: all)")
        ->check(CLI::IsMember({"forward", "inplace", "backward"}));
    command.add_flag("--require-all", options.require_all, "a case that is not implemented also fails the run");
    command.add_option("--timeout", options.timeout_s, "seconds that one case may take")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command
        .add_option("--memory-limit", options.memory_limit,
                    "memory of one worker, such as 4G; 0: no limit; default: an equal share")
        ->check(memory_size());
    command.add_option("--device-config", options.device_config,
                       "rules for a device: skips and tolerances (docs/device_config.md)");
    command.add_flag("--resume", options.resume, "continue with the journal in the run folder");
    auto* maxfail = command.add_option("--maxfail", options.maxfail, "end the run after N failures")
                        ->type_name("N")
                        ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
    command.add_flag("-x,--exitfirst", options.exit_first, "end the run after the first failure")->excludes(maxfail);
    command.add_flag("--last-failed,--rerun-failed", options.last_failed, "only the cases that failed in the last run")
        ->excludes(command.get_option("--resume"))
        ->excludes(command.get_option("--case"));
    command.add_flag("--collect-only,--dry-run", options.collect_only, "print the ids of the cases, and run nothing");
    command.add_flag("-v,--verbose", options.verbose, "print a line for each case, with its id, dtype and shapes");
    add_form_options(command, options.format, options.durations);
    command.add_option("--shard", options.shard, "run part K of N; slurm: that of the job array's task")
        ->type_name("K/N");
    add_diagnosis_options(command, options);
    command.add_option("--csv", options.csv, "path of the error report")->capture_default_str();
    command.add_option("--junit", options.junit, "also write JUnit XML");
    command.add_option("--save-failures", options.save_failures, "folder for a replay bundle of each failed call")
        ->type_name("DIR");
    command.add_option("--replay", options.replay, "run the call of a replay bundle again (docs/test.md)")
        ->type_name("FILE");
    add_capture_option(command, options.capture);
    add_record_options(command, options.record)
        ->excludes(command.get_option("--resume"))
        ->excludes(command.get_option("--find-order"));
    command.footer(kTestExamples);
}

}  // namespace diopi
