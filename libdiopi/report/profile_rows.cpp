#include "report/profile_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "core/suggest.hpp"
#include "store/profile_figures.hpp"

namespace diopi {

namespace {

/// One call by itself: times with and without the calls inside.
struct CallFigures {
    Summary cpu, counted;  ///< the host's time, and the time that counts
    double device = 0;
    double inner_cpu = 0, inner_device = 0;
    int64_t inner_memory = 0;
};

double device_median(const ProfiledCall& call) {
    std::vector<double> seconds;
    for (const TimedRun& run : call.runs) seconds.push_back(run.device);
    return median(std::move(seconds));
}

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

std::string key_of(const ProfiledCall& call, size_t position, ProfileGrouping grouping) {
    switch (grouping) {
        case ProfileGrouping::kName:
            return call.name;
        case ProfileGrouping::kShape:
            return fmt::format("{} {} {}", call.name, name(call.dtype), shapes_text(call));
        case ProfileGrouping::kCall:
            break;
    }
    return std::to_string(position);
}

/// Whether a call around this one is in the same row: its total holds this one's already.
bool is_inside_its_row(const Profile& profile, size_t position, const std::vector<std::string>& keys) {
    for (int64_t outer = profile.calls[position].parent; outer >= 0;
         outer = profile.calls[static_cast<size_t>(outer)].parent) {
        if (keys[static_cast<size_t>(outer)] == keys[position]) return true;
    }
    return false;
}

/// The row's shapes and dtype are those of its calls, as far as they agree.
void describe(ProfileRow& row, const ProfiledCall& call) {
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

/// SLOWER before FASTER before AMBIGUOUS before SAME; of two alike, the larger change.
bool is_worse(const SpeedComparison& a, const SpeedComparison& b) {
    const auto rank = [](SpeedVerdict verdict) {
        constexpr SpeedVerdict kOrder[] = {SpeedVerdict::kSame, SpeedVerdict::kAmbiguous, SpeedVerdict::kFaster,
                                           SpeedVerdict::kSlower};
        return std::ranges::find(kOrder, verdict) - std::begin(kOrder);
    };
    if (a.verdict != b.verdict) return rank(a.verdict) > rank(b.verdict);
    return std::abs(std::log(a.ratio.value)) > std::abs(std::log(b.ratio.value));
}

using Figure = std::function<double(const ProfileRow&)>;

const std::vector<std::pair<std::string, Figure>>& sort_figures() {
    static const std::vector<std::pair<std::string, Figure>> all = {
        {"cpu_time_total", [](const ProfileRow& row) { return row.total_cpu; }},
        {"self_cpu_time_total", [](const ProfileRow& row) { return row.self_cpu; }},
        {"cpu_time", [](const ProfileRow& row) { return row.total_cpu / static_cast<double>(row.calls); }},
        {"device_time_total", [](const ProfileRow& row) { return row.total_device; }},
        {"self_device_time_total", [](const ProfileRow& row) { return row.self_device; }},
        {"device_time", [](const ProfileRow& row) { return row.total_device / static_cast<double>(row.calls); }},
        {"cpu_memory_usage", [](const ProfileRow& row) { return static_cast<double>(row.total_memory); }},
        {"self_cpu_memory_usage", [](const ProfileRow& row) { return static_cast<double>(row.self_memory); }},
        {"count", [](const ProfileRow& row) { return static_cast<double>(row.calls); }},
        {"median", [](const ProfileRow& row) { return row.median; }},
        {"flops", [](const ProfileRow& row) { return row.time > 0 ? row.flops / row.time : 0; }},
        {"bandwidth", [](const ProfileRow& row) { return row.time > 0 ? row.bytes / row.time : 0; }},
        // What there is to be won: the time above the roof.
        {"above_roof", [](const ProfileRow& row) { return row.roof > 0 ? row.time - row.roof : 0; }},
        {"ratio", [](const ProfileRow& row) { return row.comparison == nullptr ? 0 : row.comparison->ratio.value; }},
    };
    return all;
}

}  // namespace

std::string shapes_text(const ProfiledCall& call) {
    std::string text;
    for (const auto& shape : call.shapes)
        text += fmt::format("{}[{}]", text.empty() ? "" : ", ", fmt::join(shape, ", "));
    return "[" + text + "]";
}

std::vector<ProfileRow> profile_rows(const Profile& profile, ProfileGrouping grouping,
                                     const std::vector<std::optional<SpeedComparison>>& comparisons) {
    const std::vector<CallFigures> figures = figures_of(profile);
    std::vector<std::string> keys;
    for (size_t i = 0; i < profile.calls.size(); ++i) keys.push_back(key_of(profile.calls[i], i, grouping));
    std::vector<ProfileRow> rows;
    std::vector<std::vector<double>> medians;
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        const CallFigures& own = figures[i];
        if (!call.trouble.empty() || call.runs.empty()) continue;
        const auto [place, is_new] = places.try_emplace(keys[i], rows.size());
        if (is_new) {
            rows.emplace_back();
            medians.emplace_back();
        }
        ProfileRow& row = rows[place->second];
        describe(row, call);
        ++row.calls;
        row.self_cpu += std::max(0.0, own.cpu.median - own.inner_cpu);
        row.self_device += std::max(0.0, own.device - own.inner_device);
        row.self_memory += call.allocated - call.freed - own.inner_memory;
        if (!is_inside_its_row(profile, i, keys)) {
            row.total_cpu += own.cpu.median;
            row.total_device += own.device;
            row.total_memory += call.allocated - call.freed;
        }
        row.allocated += call.allocated;
        row.freed += call.freed;
        const double roof = roof_seconds(profile.roofs, call);
        row.time += own.counted.median;
        row.roof += roof;
        row.flops += call.flops;
        row.bytes += call.bytes;
        row.uncertainty += std::pow(own.counted.half_width() * own.counted.median, 2);
        row.invalid = row.invalid || roof > kMostOfRoof * own.counted.median;
        medians[place->second].push_back(own.counted.median);
        if (i >= comparisons.size() || !comparisons[i]) continue;
        if (row.comparison == nullptr || is_worse(*comparisons[i], *row.comparison)) row.comparison = &*comparisons[i];
    }
    for (size_t r = 0; r < rows.size(); ++r) {
        ProfileRow& row = rows[r];
        row.median = median(medians[r]);
        row.uncertainty = row.time > 0 ? std::sqrt(row.uncertainty) / row.time : 0;
        const double roof_each = row.roof / static_cast<double>(row.calls);
        row.launch_bound = row.roof > 0 && roof_each < profile.roofs.empty_call;
    }
    return rows;
}

std::vector<std::string> profile_sort_keys() {
    std::vector<std::string> keys = {"name"};
    for (const auto& [key, figure] : sort_figures()) keys.push_back(key);
    return keys;
}

Status sort_profile_rows(std::vector<ProfileRow>& rows, std::string_view key) {
    if (key == "name") {
        std::ranges::stable_sort(rows, {}, &ProfileRow::name);
        return {};
    }
    for (const auto& [known, figure] : sort_figures()) {
        if (key != known) continue;
        std::ranges::stable_sort(rows, std::greater(), figure);
        return {};
    }
    return bad_input(fmt::format("--sort-by: there is no key '{}'{}; there are: {}", key,
                                 did_you_mean(key, profile_sort_keys()), fmt::join(profile_sort_keys(), ", ")));
}

}  // namespace diopi
