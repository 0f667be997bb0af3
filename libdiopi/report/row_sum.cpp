#include "report/row_sum.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace diopi {

namespace {

double device_median(const ProfiledCall& call) {
    std::vector<double> seconds;
    for (const TimedRun& run : call.runs) seconds.push_back(run.device);
    return median(std::move(seconds));
}

/// SLOWER before FASTER before AMBIGUOUS before SAME; of two equal verdicts, the larger change.
bool is_worse(const SpeedComparison& a, const SpeedComparison& b) {
    const auto rank = [](SpeedVerdict verdict) {
        constexpr SpeedVerdict kOrder[] = {SpeedVerdict::kSame, SpeedVerdict::kAmbiguous, SpeedVerdict::kFaster,
                                           SpeedVerdict::kSlower};
        return std::ranges::find(kOrder, verdict) - std::begin(kOrder);
    };
    if (a.verdict != b.verdict) return rank(a.verdict) > rank(b.verdict);
    return std::abs(std::log(a.ratio.value)) > std::abs(std::log(b.ratio.value));
}

/// "time limit" before "noise plateau" before "converged".
const std::string& stopped_first(const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& stop) {
        constexpr std::string_view kOrder[] = {"", "converged", "noise plateau", kTimeLimit};
        return std::ranges::find(kOrder, stop) - std::begin(kOrder);
    };
    return rank(a) < rank(b) ? b : a;
}

}  // namespace

std::vector<CallFigures> figures_of(const Profile& profile) {
    std::vector<CallFigures> figures(profile.calls.size());
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        figures[i].cpu = summary_of(call, false);
        figures[i].counted = profile.has_device_time ? summary_of(call, true) : figures[i].cpu;
        figures[i].device = profile.has_device_time ? device_median(call) : 0;
        if (call.parent < 0) continue;
        CallFigures& outer = figures[static_cast<size_t>(call.parent)];
        outer.inner_cpu += figures[i].cpu.median;
        outer.inner_device += figures[i].device;
        outer.inner_memory += call.allocated - call.freed;
    }
    return figures;
}

void RowSum::add_self(const ProfiledCall& call, const CallFigures& own) {
    row.self_cpu += std::max(0.0, own.cpu.median - own.inner_cpu);
    row.self_device += std::max(0.0, own.device - own.inner_device);
    row.self_memory += call.allocated - call.freed - own.inner_memory;
}

void RowSum::add_total(const ProfiledCall& call, const CallFigures& own) {
    row.total_cpu += own.cpu.median;
    row.total_device += own.device;
    row.total_memory += call.allocated - call.freed;
}

void RowSum::add_time(const CallFigures& own) {
    row.time += own.counted.median;
    row.uncertainty += std::pow(own.counted.half_width() * own.counted.median, 2);
}

void RowSum::add_call(const ProfiledCall& call, const CallFigures& own, const Roofs& roofs,
                      const SpeedComparison* comparison) {
    ++row.calls;
    row.allocated += call.allocated;
    row.freed += call.freed;
    const double roof = roof_seconds(roofs, call);
    row.roof += roof;
    row.flops += call.flops;
    row.bytes += call.bytes;
    row.invalid = row.invalid || roof > kMostOfRoof * own.counted.median;
    row.stop = stopped_first(row.stop, call.stop);
    medians_.push_back(own.counted.median);
    if (comparison == nullptr) return;
    row.compared_time += own.counted.median;
    row.base_time += comparison->base;
    if (row.comparison == nullptr || is_worse(*comparison, *row.comparison)) row.comparison = comparison;
}

void RowSum::describe(const ProfiledCall& call) {
    const auto agree = [&](std::string& text, std::string other) {
        if (row.calls == 0) {
            text = std::move(other);
        } else if (text != other) {
            text.clear();
        }
    };
    row.name = call.name;
    agree(row.phase, call.phase);
    agree(row.dtype, std::string(name(call.dtype)));
    agree(row.shapes, shapes_text(call));
    agree(row.case_id, call.case_id);
}

ProfileRow RowSum::finish(const Roofs& roofs) const {
    ProfileRow whole = row;
    whole.median = median(medians_);
    whole.uncertainty = whole.time > 0 ? std::sqrt(whole.uncertainty) / whole.time : 0;
    const double roof_each = whole.calls > 0 ? whole.roof / static_cast<double>(whole.calls) : 0;
    whole.launch_bound = whole.roof > 0 && roof_each < roofs.empty_call;
    return whole;
}

const SpeedComparison* comparison_of(const std::vector<std::optional<SpeedComparison>>& comparisons, size_t call) {
    return call < comparisons.size() && comparisons[call] ? &*comparisons[call] : nullptr;
}

}  // namespace diopi
