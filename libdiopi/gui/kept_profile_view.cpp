#include "gui/kept_profile_view.hpp"

#include <algorithm>
#include <map>

#include "gui/run_view.hpp"

namespace diopi {

namespace {

/// In the order of their first calls.
std::vector<OperatorTime> operator_times(const std::vector<const KeptCall*>& calls, double all_seconds) {
    std::vector<OperatorTime> operators;
    std::vector<std::pair<double, double>> roofed;  // seconds of the roof, and of the calls that have one
    std::map<std::string, size_t> known;
    for (const KeptCall* call : calls) {
        if (!call->is_measured()) continue;
        const auto [at, is_new] = known.try_emplace(call->name, operators.size());
        if (is_new) {
            operators.push_back({call->name});
            roofed.emplace_back();
        }
        OperatorTime& row = operators[at->second];
        ++row.calls;
        row.seconds += *call->median;
        row.share = row.seconds / all_seconds;
        if (call->roof.value_or(0) <= 0) continue;
        auto& [roof, seconds] = roofed[at->second];
        roof += *call->roof;
        seconds += *call->median;
        row.of_roof = roof / seconds;
    }
    return operators;
}

}  // namespace

KeptProfileView::KeptProfileView(KeptProfile profile, std::string_view filter)
    : profile_(std::move(profile)), roofline_(roofline_of(profile_)), timeline_(timeline_of(profile_)) {
    for (const KeptCall& call : profile_.calls) {
        if (!call.is_measured()) continue;
        ++measured_;
        seconds_ += *call.median;
    }
    choose(filter);
}

bool KeptProfileView::shows(const KeptCall& call) const {
    return filter_matches(filter_, call.name) || filter_matches(filter_, call.layer);
}

void KeptProfileView::choose(std::string_view filter) {
    filter_ = filter;
    calls_.clear();
    ratios_.clear();
    for (const KeptCall& call : profile_.calls) {
        if (!shows(call)) continue;
        calls_.push_back(&call);
        if (call.is_measured() && call.ratio && call.ratio->value) ratios_.push_back(&call);
    }
    operators_ = operator_times(calls_, seconds_);
}

double ratio_place(const std::optional<double>& ratio) { return ratio ? LogAxis{0.25, 4}.place(*ratio) : 1; }

double share_of_roof(const KeptCall& call) {
    return call.is_measured() && call.roof.value_or(0) > 0 ? *call.roof / *call.median : 0;
}

}  // namespace diopi
