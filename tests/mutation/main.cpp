/// diopi_mutation: plants faults in the cpu backend and counts those that a conformance run sees (docs/mutation.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <thread>

#include "score.hpp"
#include "worker/worker_pool.hpp"

namespace {

using namespace diopi;
using namespace diopi::mutation;

constexpr double kLeastScore = 99;
enum Exit { kPassed = 0, kBelow = 1, kBadInput = 2, kInternal = 3, kInterrupted = 130 };

struct Options {
    std::vector<std::string> ops, faults;
    std::string function, case_id, run_options, json, cases = DIOPI_SOURCE_CASES;
    uint64_t seed = 0;
    int jobs = 0;
    bool quick = false;
};

/// A sample: one operator of each family, and faults of each kind.
const std::vector<std::string> kQuickOps = {"add", "relu", "linear", "sum", "argmax", "nll_loss", "normal_", "sgd"};
const std::vector<std::string> kQuickFaults = {"last_unwritten", "middle_wrong",     "row_ends_ignored",   "truncation",
                                               "stale",          "write_past_end",   "input_modified",     "crash",
                                               "leak",           "nondeterministic", "wrong_noncontiguous"};

int refuse(const std::string& message, Exit code = kBadInput) {
    fmt::print(stderr, "diopi_mutation: error: {}\n", message);
    return code;
}

Result<std::vector<const Fault*>> chosen_faults(const std::vector<std::string>& names) {
    std::vector<const Fault*> chosen;
    for (const std::string& name : names) {
        const Fault* fault = find_fault(name);
        if (fault == nullptr) return bad_input("there is no fault '" + name + "'; docs/mutation.md lists them");
        chosen.push_back(fault);
    }
    if (!names.empty()) return chosen;
    for (const Fault& fault : faults()) chosen.push_back(&fault);
    return chosen;
}

int run(const Options& options) {
    CampaignOptions campaign;
    auto chosen = chosen_faults(options.quick && options.faults.empty() ? kQuickFaults : options.faults);
    if (!chosen.ok()) return refuse(chosen.error().message);
    campaign.faults = std::move(*chosen);
    campaign.seed = options.seed;
    campaign.jobs =
        options.jobs > 0 ? options.jobs : std::max(2, static_cast<int>(std::thread::hardware_concurrency()));

    CandidateOptions wanted;
    wanted.ops = options.quick && options.ops.empty() ? kQuickOps : options.ops;
    if (options.quick) wanted.plain = wanted.varied = 4;
    if (!options.case_id.empty()) {
        wanted.plain = wanted.varied = SIZE_MAX;
        wanted.largest_cost = INT64_MAX;
    }
    auto candidates = find_candidates(options.cases, wanted);
    if (!candidates.ok()) return refuse(candidates.error().message);
    std::erase_if(*candidates, [&](const Candidate& x) {
        if (!options.function.empty() && x.row->function != options.function) return true;
        return !options.case_id.empty() && (x.c.id() != options.case_id || x.options != options.run_options);
    });
    if (candidates->empty()) return refuse("no case matches; --case takes an id such as ops/relu.relu.3");

    install_interrupt_handler();
    auto record = run_campaign(*candidates, campaign);
    if (!record.ok()) return refuse(record.error().message, kInternal);
    if (interrupted()) return kInterrupted;
    fmt::print("{}", text_report(*record, campaign, *candidates));
    if (!options.json.empty()) {
        std::ofstream file(options.json);
        file << json_report(*record, campaign, *candidates) << "\n";
        if (!file.flush()) return refuse("cannot write " + options.json + "; choose another place for --json");
    }
    const bool enough = score_of(*record, campaign).percent() >= kLeastScore && record->false_alarms.empty();
    return enough ? kPassed : kBelow;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("plants faults in a correct library and counts those that a conformance run sees (docs/mutation.md)");
    app.add_option("OPERATOR", options.ops, "operators; all that are implemented unless stated");
    app.add_option("--function", options.function, "one C function only: diopiAddInp");
    app.add_option("--fault", options.faults, "faults by name or code; all of them unless stated");
    app.add_option("--case", options.case_id, "one case only");
    app.add_option("--options", options.run_options,
                   "with --case: the options of diopi test in the form of the report");
    app.add_option("--json", options.json, "also write the results to this file");
    app.add_option("--cases-dir", options.cases, "folder of the case files")->capture_default_str();
    app.add_option("--seed", options.seed, "seed of the case's random numbers")->capture_default_str();
    app.add_option("--jobs", options.jobs, "worker processes; one per processor unless stated")
        ->check(CLI::Range(1, 256));
    app.add_flag("--quick", options.quick, "an operator of each family, some faults, a few cases");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kPassed : kBadInput;
    }
    return run(options);
}
