#include "order_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "report/console.hpp"
#include "report/error_report.hpp"
#include "report/table.hpp"
#include "shrink/order_finder.hpp"

namespace diopi {

namespace {

/// What of the cases would run at all.
std::vector<Case> cases_that_run(const OrderCommand& command) {
    const ConformanceOptions& options = command.conformance;
    std::vector<Case> cases;
    std::ranges::copy_if(command.cases, std::back_inserter(cases), [&](const Case& c) {
        return options.cases.backend->implements(c.op) && !(options.skip_reason && options.skip_reason(c));
    });
    return cases;
}

std::vector<std::string> ids_of(const std::vector<Case>& cases, const std::vector<size_t>& items) {
    std::vector<std::string> ids;
    for (const size_t item : items) ids.push_back(cases[item].id());
    return ids;
}

/// "fails after ops/x.y.3", or why nothing like it can be said.
std::string cause(const std::vector<Case>& cases, const OrderDependence& found) {
    if (found.unsteady) return "nothing: alone it changes, too";
    if (found.before.empty()) return found.fewest ? "no order that was found" : "not found in time";
    const char* verb = found.verdict == Verdict::kPassed    ? "passes"
                       : found.verdict == Verdict::kCrashed ? "crashes"
                       : found.verdict == Verdict::kTimeout ? "hangs"
                                                            : "fails";
    return fmt::format("{} after {}{}", verb, fmt::join(ids_of(cases, found.before), ", "),
                       found.fewest ? "" : " (not the fewest: time was up)");
}

/// The command that gets the verdict again; empty when no order does.
std::string repeat(const OrderCommand& command, const std::vector<Case>& cases, const OrderDependence& found) {
    if (found.before.empty()) return "";
    std::vector<size_t> items = found.before;
    items.push_back(found.item);
    const std::string& options = command.conformance.repeat;
    return fmt::format("diopi test --in-order {}{}{}", fmt::join(ids_of(cases, items), " "), options.empty() ? "" : " ",
                       options);
}

void print_text(const OrderCommand& command, const std::vector<Case>& cases, const OrderReport& report) {
    Table table({{"case"}, {"in the run"}, {"shuffled"}, {"alone"}, {"depends on"}});
    for (const OrderDependence& found : report.found) {
        table.add_row(
            {cases[found.item].id(), name(found.in_run), name(found.shuffled), name(found.alone), cause(cases, found)});
    }
    if (!table.empty()) table.print(stdout);
    for (const OrderDependence& found : report.found) {
        if (found.before.empty()) continue;
        fmt::print("\n{} {}\n    {}\n", cases[found.item].id(), cause(cases, found), repeat(command, cases, found));
    }
    fmt::print("{}{} of {} cases depend on the order, {} fail alone, {:.1f} s\n", report.found.empty() ? "" : "\n",
               report.found.size(), cases.size(), report.failures, report.seconds);
}

void print_json(const OrderCommand& command, const std::vector<Case>& cases, const OrderReport& report) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (const OrderDependence& found : report.found) {
        list.push_back({{"case", cases[found.item].id()},
                        {"in_run", name(found.in_run)},
                        {"shuffled", name(found.shuffled)},
                        {"alone", name(found.alone)},
                        {"unsteady", found.unsteady},
                        {"after", ids_of(cases, found.before)},
                        {"fewest", found.fewest},
                        {"repeat", repeat(command, cases, found)}});
    }
    const Json out = {{"cases", cases.size()},
                      {"fail_alone", report.failures},
                      {"seconds", report.seconds},
                      {"order_dependent", std::move(list)}};
    fmt::print("{}\n", out.dump(2));
}

}  // namespace

int run_order_command(const OrderCommand& command) {
    const std::vector<Case> cases = cases_that_run(command);
    const ConformanceOptions& conformance = command.conformance;
    if (Status s = StoredBaselines::check(conformance.data, cases); !s.ok()) return report_error(s.error());
    RunWorkers workers = workers_of(conformance);
    OrderOptions options;
    options.pool = workers.pool;
    options.worker = std::move(workers.worker);
    options.order = conformance.order.by == RunOrder::By::kGiven ? conformance.order : RunOrder();
    options.shuffle_seed =
        conformance.order.by == RunOrder::By::kShuffle ? conformance.order.seed : command.common.seed;

    const bool silent = command.common.json;
    auto console = std::make_unique<Console>(Console::Options{silent ? stderr : stdout, LogLevel::kInfo, !silent});
    std::string now;
    options.progress = [&](std::string_view what, int64_t done, int64_t total) {
        if (now != what) {
            if (!silent && !command.common.quiet) console->print(fmt::format("{} ({})", what, total));
            console->start(total);
            now = what;
        }
        console->advance(done, 0);
    };
    if (!silent)
        console->print(fmt::format("{} cases, shuffled with --shuffle {}", cases.size(), options.shuffle_seed));
    const auto report = find_order_dependence(cases, options);
    console.reset();
    if (!report.ok()) return report_error(report.error());
    if (report->interrupted) {
        fmt::print(stderr, "diopi: interrupted; run it again\n");
        return static_cast<int>(Exit::kInterrupted);
    }
    silent ? print_json(command, cases, *report) : print_text(command, cases, *report);
    return static_cast<int>(report->found.empty() ? Exit::kPassed : Exit::kFailures);
}

Result<std::vector<Case>> choose_cases_in_order(const CommonOptions& options, const std::vector<std::string>& ids,
                                                const Backend& backend) {
    if (!options.case_id.empty() || !options.fname.empty() || !options.model.empty()) {
        return bad_input("--in-order names its cases itself: leave out --case, --fname and --model");
    }
    CaseSelection selection;
    selection.ops = false;
    selection.files = options.case_files;
    for (const std::string& id : ids) {
        const CaseSelection one = CaseSelection::for_id(id);
        const bool from_files = one.ops && !options.case_files.empty();
        selection.ops = selection.ops || (one.ops && !from_files);
        for (const std::string& model : one.models) {
            if (std::ranges::find(selection.models, model) == selection.models.end()) selection.models.push_back(model);
        }
    }
    auto catalogue = Catalogue::load(cases_folder(options), selection);
    if (!catalogue.ok()) return catalogue.error();
    std::vector<Case> cases;
    for (const std::string& id : ids) {
        auto found = catalogue->find(id);
        if (!found.ok()) return found.error();
        cases.push_back(std::move(*found));
    }
    if (Status s = check_plans(cases, *catalogue, options, backend); !s.ok()) return s.error();
    return cases;
}

}  // namespace diopi
