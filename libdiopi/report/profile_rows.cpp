#include "report/profile_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "core/suggest.hpp"
#include "report/row_sum.hpp"

namespace diopi {

namespace {

std::string key_of(const ProfiledCall& call, size_t position, ProfileGrouping grouping) {
    switch (grouping) {
        case ProfileGrouping::kName:
            return call.name;
        case ProfileGrouping::kShape:
            return fmt::format("{} {} {}", call.name, name(call.dtype), shapes_text(call));
        case ProfileGrouping::kCall:
        case ProfileGrouping::kLayer:
            break;
    }
    return std::to_string(position);
}

/// Whether a call around this one is in the same row, whose total then already includes this call.
bool is_inside_its_row(const Profile& profile, size_t position, const std::vector<std::string>& keys) {
    for (int64_t outer = profile.calls[position].parent; outer >= 0;
         outer = profile.calls[static_cast<size_t>(outer)].parent) {
        if (keys[static_cast<size_t>(outer)] == keys[position]) return true;
    }
    return false;
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
        // The possible gain is the time above the roof.
        {"above_roof", [](const ProfileRow& row) { return row.roof > 0 ? row.time - row.roof : 0; }},
        {"ratio", [](const ProfileRow& row) { return row.ratio(); }},
    };
    return all;
}

using Before = std::function<bool(const ProfileRow&, const ProfileRow&)>;

/// Sorts rows [first, end) of a tree: the rows of the least depth, each followed by its own sorted subtree.
void sort_tree(std::vector<ProfileRow>& rows, size_t first, size_t end, const Before& before) {
    struct Branch {
        size_t first, end;
    };
    std::vector<Branch> branches;
    for (size_t i = first; i < end; ++i) {
        if (rows[i].depth == rows[first].depth) branches.push_back({i, i});
        branches.back().end = i + 1;
    }
    std::ranges::stable_sort(branches,
                             [&](const Branch& a, const Branch& b) { return before(rows[a.first], rows[b.first]); });
    std::vector<ProfileRow> sorted;
    for (const Branch& branch : branches) {
        for (size_t i = branch.first; i < branch.end; ++i) sorted.push_back(rows[i]);
    }
    std::ranges::move(sorted, rows.begin() + static_cast<ptrdiff_t>(first));
    for (size_t at = first; const Branch& branch : branches) {
        const size_t size = branch.end - branch.first;
        if (size > 1) sort_tree(rows, at + 1, at + size, before);
        at += size;
    }
}

/// Sorts rows, and gives each its rank among all.
void sort_rows(std::vector<ProfileRow>& rows, const Before& before) {
    sort_tree(rows, 0, rows.size(), before);
    std::vector<ProfileRow*> by_key;
    for (ProfileRow& row : rows) by_key.push_back(&row);
    std::ranges::stable_sort(by_key, [&](const ProfileRow* a, const ProfileRow* b) { return before(*a, *b); });
    for (size_t rank = 0; rank < by_key.size(); ++rank) by_key[rank]->rank = rank;
}

}  // namespace

std::vector<ProfileRow> profile_rows(const Profile& profile, ProfileGrouping grouping,
                                     const std::vector<std::optional<SpeedComparison>>& comparisons) {
    if (grouping == ProfileGrouping::kLayer) return layer_rows(profile, comparisons);
    const std::vector<CallFigures> figures = figures_of(profile);
    std::vector<std::string> keys;
    for (size_t i = 0; i < profile.calls.size(); ++i) keys.push_back(key_of(profile.calls[i], i, grouping));
    std::vector<RowSum> sums;
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        if (!call.error.empty() || call.runs.empty()) continue;
        const auto [place, is_new] = places.try_emplace(keys[i], sums.size());
        if (is_new) sums.emplace_back();
        RowSum& sum = sums[place->second];
        sum.describe(call);
        sum.add_self(call, figures[i]);
        if (!is_inside_its_row(profile, i, keys)) sum.add_total(call, figures[i]);
        sum.add_time(figures[i]);
        sum.add_call(call, figures[i], profile.roofs, comparison_of(comparisons, i));
    }
    std::vector<ProfileRow> rows;
    for (const RowSum& sum : sums) {
        rows.push_back(sum.finish(profile.roofs));
        rows.back().rank = rows.size() - 1;
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
        sort_rows(rows, [](const ProfileRow& a, const ProfileRow& b) { return a.name < b.name; });
        return {};
    }
    for (const auto& [known, figure] : sort_figures()) {
        if (key != known) continue;
        sort_rows(rows, [&](const ProfileRow& a, const ProfileRow& b) { return figure(a) > figure(b); });
        return {};
    }
    return bad_input(fmt::format("--sort-by: there is no key '{}'{}; there are: {}", key,
                                 did_you_mean(key, profile_sort_keys()), fmt::join(profile_sort_keys(), ", ")));
}

}  // namespace diopi
