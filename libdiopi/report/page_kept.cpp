/// The pages of profile, compare and fallback-sim.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "report/error_report.hpp"
#include "report/html_page.hpp"
#include "report/kept_records.hpp"

namespace diopi {

namespace {

/// With four digits: a picture shows no more, and the page stays small.
Json rounded(double x) { return json_number(std::strtod(fmt::format("{:.4g}", x).c_str(), nullptr)); }

Json rounded_or_null(const std::optional<double>& x) { return x ? rounded(*x) : Json(); }

Json heading_json(const KeptReport& kept, const KeptHeading& heading) {
    return {{"kind", kept.kind},          {"title", heading.title},          {"label", page_label(kept.command)},
            {"heading", kept.written},    {"environment", kept.environment}, {"command", command_text(kept.command)},
            {"summary", heading.summary}, {"failures", heading.failures}};
}

// ---- profile

Json call_row(const KeptCall& call) {
    Json row = Json::array();
    for (const auto& [member, text] : kCallTexts) row.push_back(call.*text);
    for (const auto& [member, figure] : kCallFigures) row.push_back(rounded_or_null(call.*figure));
    row.push_back(call.shapes);
    row.push_back(call.launch_bound);
    if (!call.ratio) return row;
    const KeptRatio& ratio = *call.ratio;
    for (const auto& figure : {ratio.value, ratio.low, ratio.high, ratio.base_median}) {
        row.push_back(rounded_or_null(figure));
    }
    row.push_back(ratio.verdict);
    return row;
}

Json columns() {
    Json names = Json::array();
    for (const auto& [member, text] : kCallTexts) names.push_back(member);
    for (const auto& [member, figure] : kCallFigures) names.push_back(member);
    for (const char* member : {"shapes", "launch_bound", "ratio", "low", "high", "base_s", "verdict"}) {
        names.push_back(member);
    }
    return names;
}

Json profile_json(const KeptReport& kept, const KeptProfile& profile) {
    Json data = heading_json(kept, profile.heading);
    data["roofs"] = kept.report->at("roofs");
    data["columns"] = columns();
    Json& calls = data["calls"] = Json::array();
    for (const KeptCall& call : profile.calls) calls.push_back(call_row(call));
    if (!profile.base) return data;
    data["base"] = kept.report->at(profile.base->member);
    data["base"]["name"] = profile.base->name;
    return data;
}

// ---- compare

Json histogram_json(const UlpHistogram& histogram) { return histogram.total() > 0 ? Json(histogram.counts) : Json(); }

Json operators_json(const std::vector<CompareRow>& rows, const CompareSides& sides) {
    Json list = Json::array();
    for (const auto& [overload, differences] : by_operator(rows)) {
        list.push_back({{"op", overload},
                        {"calls", differences.calls.size()},
                        {"tensors", differences.tensors},
                        {"different", differences.different},
                        {"cosine", differences.cosine ? json_number(*differences.cosine) : Json()},
                        {"max_abs", rounded(differences.max_abs)},
                        {"max_rel", rounded_or_null(differences.max_rel)},
                        {"closer", differences.closer(sides)},
                        {"ulp", histogram_json(differences.ulp)},
                        {"other_ulp", histogram_json(differences.other_ulp)}});
    }
    return list;
}

Json difference_json(const CompareRow& row) {
    return {{"op", row.overload},
            {"where", row.where},
            {"name", row.name},
            {"layer", layers_of(row)},
            {"tensor", row.tensor},
            {"note", difference_text(row)},
            {"max_abs", rounded(row.max_abs)},
            {"max_rel", rounded_or_null(row.max_rel)},
            {"cosine", row.cosine ? json_number(*row.cosine) : Json()},
            {"allowed", allowed_text(row)},
            {"inputs", row.inputs},
            {"outputs", row.outputs},
            {"alone", !row.only_in.empty()}};
}

/// Of each tensor: where, name, layer, 1 - cosine, largest difference, differs.
Json course_json(const std::vector<CompareRow>& rows) {
    Json list = Json::array();
    for (const CompareRow* row : course_of(rows)) {
        list.push_back({row->where, row->name, row->layer, row->cosine ? rounded(1 - *row->cosine) : Json(),
                        rounded(row->max_abs), !row->allclose});
    }
    return list;
}

Json compare_json(const KeptReport& kept, const KeptComparison& comparison) {
    const auto& [heading, sides, rows] = comparison;
    Json data = heading_json(kept, heading);
    data["sides"] = {sides.backend, sides.against};
    data["ulp_bins"] = UlpHistogram::kTitles;
    data["operators"] = operators_json(rows, sides);
    data["course"] = course_json(rows);
    Json& differences = data["differences"] = Json::array();
    for (const CompareRow& row : rows) {
        if (row.differs()) differences.push_back(difference_json(row));
    }
    Json& skipped = data["skipped"] = Json::array();
    for (const SkippedCalls& calls : skipped_in(rows)) {
        skipped.push_back(
            {{"reason", calls.reason}, {"calls", calls.calls}, {"first", calls.first}, {"names", calls.names()}});
    }
    return data;
}

// ---- fallback-sim

Json simulation_json(const KeptReport& kept, const KeptFallback& fallback) {
    Json data = heading_json(kept, fallback.heading);
    data["sides"] = {fallback.record.backend, fallback.record.other};
    for (const char* member : {"fallback", "missing", "step_s", "step_with_fallback_s", "results", "changed"}) {
        data[member] = kept.report->at(member);
    }
    return data;
}

Json bisection_json(const KeptReport& kept, const KeptBisection& bisection) {
    Json data = heading_json(kept, bisection.heading);
    for (const char* member : {"reason", "flaky", "functions", "calls"}) data[member] = kept.report->at(member);
    return data;
}

template <class Record>
Result<Json> page_json(const KeptReport& kept, const Result<Record>& record,
                       Json (*json_of)(const KeptReport&, const Record&)) {
    if (!record.ok()) return record.error();
    return json_of(kept, *record);
}

}  // namespace

Result<Json> page_data(const KeptReport& kept) {
    if (kept.kind == "profile") return page_json(kept, profile_in(kept), profile_json);
    if (kept.kind == "compare") return page_json(kept, comparison_in(kept), compare_json);
    if (kept.kind == "fallback") return page_json(kept, fallback_in(kept), simulation_json);
    return page_json(kept, bisection_in(kept), bisection_json);
}

}  // namespace diopi
