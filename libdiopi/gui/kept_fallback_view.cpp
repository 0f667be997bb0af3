#include "gui/kept_fallback_view.hpp"

#include <algorithm>

#include "gui/run_view.hpp"

namespace diopi {

namespace {

FallbackCost cost_of(const FallbackRow& row) {
    FallbackCost cost{&row, row.in, 0};
    cost.copying += row.out;
    cost.cost = cost.seconds() - row.device_seconds;
    return cost;
}

}  // namespace

KeptFallbackView::KeptFallbackView(KeptFallback fallback, std::string_view filter) : fallback_(std::move(fallback)) {
    const FallbackRecord& record = fallback_.record;
    for (const FallbackRow& row : record.rows) calls_ += row.calls;
    is_forced_ = std::ranges::count(record.rows, FallbackReason::kForced, &FallbackRow::reason) > 0;
    beyond_ = std::ranges::count(record.changed, false, &ChangedResult::within);
    choose(filter);
}

void KeptFallbackView::choose(std::string_view filter) {
    costs_.clear();
    for (const FallbackRow& row : fallback_.record.rows) {
        if (filter_matches(filter, row.overload) || filter_matches(filter, row.function))
            costs_.push_back(cost_of(row));
    }
    changed_.clear();
    for (const ChangedResult& change : fallback_.record.changed) {
        if (filter_matches(filter, change.tensor)) changed_.push_back(&change);
    }
}

KeptBisectView::KeptBisectView(KeptBisection bisection, std::string_view filter) : bisection_(std::move(bisection)) {
    choose(filter);
}

void KeptBisectView::choose(std::string_view filter) {
    const auto matches = [&](const std::string& name) { return filter_matches(filter, name); };
    functions_.clear();
    for (const BisectRecord::Function& function : bisection_.record.functions) {
        if (matches(function.function) || std::ranges::any_of(function.overloads, matches)) {
            functions_.push_back(&function);
        }
    }
    calls_.clear();
    for (const BisectRecord::CapturedCall& call : bisection_.record.calls) {
        if (matches(call.function) || matches(call.overload) || matches(call.layer)) calls_.push_back(&call);
    }
}

}  // namespace diopi
