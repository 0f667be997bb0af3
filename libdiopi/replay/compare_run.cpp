#include "replay/compare_run.hpp"

#include <fmt/format.h>

#include <set>

#include "call/call_name.hpp"
#include "core/suggest.hpp"
#include "step/case_run.hpp"
#include "step/placed_call.hpp"
#include "step/steps.hpp"

namespace diopi {

namespace {

/// A chain whose calls are compared, on a stream of its own.
class Comparer {
 public:
    [[nodiscard]] static Result<std::unique_ptr<Comparer>> create(const CompareOptions& options) {
        auto here = Side::create(*options.backend);
        auto against = Side::create(*options.against, options.against_dtype);
        auto oracle = Side::create(reference_backend());
        for (const auto* side : {&here, &against, &oracle}) {
            if (!side->ok()) return side->error();
        }
        return std::unique_ptr<Comparer>(
            new Comparer(options, std::move(*here), std::move(*against), std::move(*oracle)));
    }

    [[nodiscard]] const Chain& chain() const { return chain_; }
    [[nodiscard]] Context& context() { return here_->context(); }
    /// Sets the place for the rows of the next calls.
    void set_where(std::string where) { where_ = std::move(where); }
    [[nodiscard]] const Status& saved() const { return saved_; }

 private:
    Comparer(const CompareOptions& options, std::unique_ptr<Side> here, std::unique_ptr<Side> against,
             std::unique_ptr<Side> oracle)
        : options_(options),
          here_(std::move(here)),
          against_(std::move(against)),
          oracle_(std::move(oracle)),
          autocompare_(*against_, *options.tolerances, [this](const ComparedCall& call) { report(call); }),
          chain_(*options.backend) {
        if (options.ulp) autocompare_.ask(*oracle_);
        for (Interceptor* tool : options.interceptors) chain_.add(*tool);
        chain_.add(autocompare_);
        if (options.sim != nullptr) chain_.add(*options.sim);
    }

    void report(const ComparedCall& compared) {
        CompareRow row = row_of(compared.call, where_);
        if (!compared.skipped.empty()) {
            row.skipped = compared.skipped;
            options_.on_row(row);
            return;
        }
        Status s = report_tensors(compared, row, options_.save_folder, options_.on_row);
        if (saved_.ok()) saved_ = std::move(s);
    }

    const CompareOptions& options_;
    std::unique_ptr<Side> here_, against_, oracle_;
    Autocompare autocompare_;
    Chain chain_;
    std::string where_;
    Status saved_;
};

}  // namespace

CompareRow row_without_answer(const CapturedCall& captured, const std::string& where, const std::string& why) {
    CompareRow row;
    row.where = where;
    row.overload = row.name = captured.overload;
    row.layer = captured.layer;
    row.forward_id = captured.forward_id;
    if (captured.call) row.function = captured.call->row->function;
    row.skipped = why;
    return row;
}

Status compare_capture(CaptureReplay& replay, const CompareOptions& options) {
    auto comparer = Comparer::create(options);
    if (!comparer.ok()) return comparer.status();
    if (Status s = replay.begin((*comparer)->context()); !s.ok()) return s;
    (*comparer)->set_where("call 0");
    const auto visit = [&](const ReplayedCall& call) {
        const std::string where = fmt::format("call {}", call.index);
        if (call.outcome.is_declined()) {
            options.on_row(row_without_answer(call.captured, where, call.outcome.message));
        }
        (*comparer)->set_where(fmt::format("call {}", call.index + 1));
        return (*comparer)->saved();
    };
    return replay.run((*comparer)->chain(), (*comparer)->context(), visit);
}

Status compare_case(const Case& c, uint64_t seed, const CompareOptions& options) {
    auto steps = CaseSteps::create(c, seed, nullptr);
    if (!steps.ok()) return steps.status();
    auto comparer = Comparer::create(options);
    if (!comparer.ok()) return comparer.status();
    Status failure;
    for (const std::string& name : (*steps)->names()) {
        auto step = (*steps)->plan(name);
        // A result that does not fit in place is no difference between two libraries.
        if (!step.ok() && name == "inplace") continue;
        if (!step.ok()) return step.status();
        const std::string where = c.id() + " " + name;
        CompareRow row = row_of(step->call, where);
        if (!options.backend->implements(*step->call.row)) {
            row.skipped = lacks(*options.backend, step->call.row->function).message;
            options.on_row(row);
            continue;
        }
        Placement placement((*comparer)->context(), nullptr, false, layout_rule(c));
        if (Status s = take_opaque(*step, Chain(*options.backend), placement); !s.ok()) return s;
        auto placed = PlacedCall::create(*step, placement, Poison::kFirst);
        if (!placed.ok()) return placed.status();
        (*comparer)->set_where(where);
        const Outcome outcome = (*comparer)->chain().run(placed->call(), (*comparer)->context());
        if (outcome.is_declined() || (!outcome.ok() && step->call.asks_for_error())) {
            row.skipped = outcome.message;
            options.on_row(row);
        } else if (!outcome.ok() && failure.ok()) {
            failure = failed(fmt::format("{} ({}): {}", name, step->call.row->function, outcome.message));
        }
        if (!(*comparer)->saved().ok()) return (*comparer)->saved();
        (*comparer)->context().release();
    }
    return failure;
}

std::vector<std::string> unused_tolerances(const ToleranceTable& tolerances, const std::vector<CompareRow>& rows) {
    std::set<std::string> known;
    for (const CompareRow& row : rows) {
        known.insert({row.overload, row.overload.substr(0, row.overload.find('.')), row.function});
        const Row* function = find_row(row.function);
        if (function == nullptr) continue;
        known.emplace(function->op);
        known.insert(full_name(*function));
    }
    const std::vector<std::string> names(known.begin(), known.end());
    std::vector<std::string> lines;
    for (const std::string& op : tolerances.option_operators()) {
        if (known.contains(op)) continue;
        lines.push_back(fmt::format("no call of '{}' was compared{}", op, did_you_mean(op, names)));
    }
    return lines;
}

}  // namespace diopi
