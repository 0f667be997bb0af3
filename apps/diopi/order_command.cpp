#include "order_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "report/console.hpp"
#include "report/order_report.hpp"
#include "shrink/order_finder.hpp"

namespace diopi {

namespace {

std::vector<Case> cases_that_run(const OrderCommand& command) {
    const ConformanceOptions& options = command.conformance;
    std::vector<Case> cases;
    std::ranges::copy_if(command.cases, std::back_inserter(cases), [&](const Case& c) {
        return options.cases.backend->implements(c.op) && !(options.skip_reason && options.skip_reason(c));
    });
    return cases;
}

}  // namespace

int run_order_command(const OrderCommand& command) {
    const std::vector<Case> cases = cases_that_run(command);
    const ConformanceOptions& conformance = command.conformance;
    if (Status s = check_baselines(cases, conformance); !s.ok()) return report_error(s.error());
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
    const OrderRecord record = to_record(*report, cases, conformance.repeat);
    fmt::print("{}", silent ? order_json(record) + "\n" : order_report(record, screen_of(stdout)));
    return static_cast<int>(report->found.empty() ? Exit::kPassed : Exit::kFailures);
}

}  // namespace diopi
