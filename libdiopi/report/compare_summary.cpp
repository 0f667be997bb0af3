#include "report/compare_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/table.hpp"

namespace diopi {

namespace {

/// NaN counts as the largest.
void take_larger(double& largest, double x) {
    if (std::isnan(x) || x > largest) largest = x;
}
void take_larger(std::optional<double>& largest, const std::optional<double>& x) {
    if (x) take_larger(largest ? *largest : largest.emplace(*x), *x);
}

/// NaN counts as the smallest.
void take_smaller(std::optional<double>& smallest, const std::optional<double>& x) {
    if (x && (!smallest || std::isnan(*x) || *x < *smallest)) smallest = x;
}

/// ", 2 calls are in only one of them": for two captures.
std::string alone_text(const std::vector<CompareRow>& rows) {
    const int64_t alone = std::ranges::count_if(rows, [](const CompareRow& row) { return !row.only_in.empty(); });
    if (alone == 0) return "";
    return alone == 1 ? ", 1 call is in only one of them" : fmt::format(", {} calls are in only one of them", alone);
}

/// ", the first at call 3, relu (layer1.0.relu)".
std::string first_difference(const std::vector<CompareRow>& rows) {
    const auto first = std::ranges::find_if(rows, &CompareRow::differs);
    if (first == rows.end()) return "";
    const bool is_captured = !first->layer.empty();
    return fmt::format(", the first at {}, {}{}", first->where, first->name,
                       is_captured ? " (" + first->layer + ")" : "");
}

}  // namespace

std::string note_of(const CompareRow& row) {
    if (row.cast.empty()) return row.error;
    return fmt::format("compared {}{}{}", row.cast, row.error.empty() ? "" : ": ", row.error);
}

std::string difference_text(const CompareRow& row) { return row.only_in.empty() ? note_of(row) : row.error; }

std::string allowed_text(const CompareRow& row) {
    return row.only_in.empty() ? fmt::format("{:.3g} + {:.3g} |x|", row.atol, row.rtol) : "";
}

std::vector<const CompareRow*> course_of(const std::vector<CompareRow>& rows) {
    std::vector<const CompareRow*> course;
    for (const CompareRow& row : rows) {
        if (!row.where.starts_with("call ")) return {};
        if (row.compared()) course.push_back(&row);
    }
    return course;
}

std::string layers_of(const CompareRow& row) {
    return row.other_layer.empty() ? row.layer : fmt::format("{} and {}", row.layer, row.other_layer);
}

std::string OperatorDifferences::closer(const CompareSides& sides) const {
    if (ulp.total() == 0) return "";
    const double one = ulp.mean(), other = other_ulp.mean();
    if (one == other) return "equal";
    return one < other ? sides.backend : sides.against;
}

std::vector<std::pair<std::string, OperatorDifferences>> by_operator(const std::vector<CompareRow>& rows) {
    std::vector<std::pair<std::string, OperatorDifferences>> summaries;
    std::map<std::string, size_t> known;
    for (const CompareRow& row : rows) {
        if (!row.compared()) continue;
        const auto [at, is_new] = known.try_emplace(row.overload, summaries.size());
        if (is_new) summaries.emplace_back(row.overload, OperatorDifferences());
        OperatorDifferences& summary = summaries[at->second].second;
        summary.calls.insert(row.where);
        ++summary.tensors;
        summary.different += row.allclose ? 0 : 1;
        take_smaller(summary.cosine, row.cosine);
        take_larger(summary.max_abs, row.max_abs);
        take_larger(summary.max_rel, row.max_rel);
        if (row.ulp) summary.ulp.add(*row.ulp);
        if (row.other_ulp) summary.other_ulp.add(*row.other_ulp);
    }
    return summaries;
}

std::string SkippedCalls::names() const {
    std::vector<std::string> names;
    for (const auto& [overload, calls] : overloads) {
        names.push_back(calls == 1 ? overload : fmt::format("{} x{}", overload, calls));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<SkippedCalls> skipped_in(const std::vector<CompareRow>& rows) {
    std::vector<SkippedCalls> all;
    for (const CompareRow& row : rows) {
        if (row.skipped.empty()) continue;
        auto at = std::ranges::find(all, row.skipped, &SkippedCalls::reason);
        if (at == all.end()) at = all.insert(all.end(), {row.skipped, row.where, 0, {}});
        ++at->calls;
        const auto named = std::ranges::find(at->overloads, row.overload, &std::pair<std::string, int64_t>::first);
        if (named == at->overloads.end()) {
            at->overloads.emplace_back(row.overload, 1);
        } else {
            ++named->second;
        }
    }
    return all;
}

std::string compare_summary(const std::vector<CompareRow>& rows, const CompareSides& sides) {
    std::set<std::string> calls;
    int64_t tensors = 0, different = 0;
    for (const CompareRow& row : rows) {
        if (!row.compared()) continue;
        calls.insert(row.where);
        ++tensors;
        different += row.allclose ? 0 : 1;
    }
    return fmt::format("{} on {} and {}: {} of {} differ{}{}.", counted(static_cast<int64_t>(calls.size()), "call"),
                       sides.backend, sides.against, different, counted(tensors, "tensor"), alone_text(rows),
                       first_difference(rows));
}

}  // namespace diopi
