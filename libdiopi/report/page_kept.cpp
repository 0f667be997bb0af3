/// The pages of profile, compare and fallback-sim.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "journal/kept_report.hpp"
#include "report/compare_summary.hpp"
#include "report/error_report.hpp"
#include "report/html_page.hpp"
#include "report/summary.hpp"

namespace diopi {

namespace {

/// With four digits: a picture shows no more, and the page stays small.
Json rounded(double x) { return json_number(std::strtod(fmt::format("{:.4g}", x).c_str(), nullptr)); }

Json rounded_or_null(const std::optional<double>& x) { return x ? rounded(*x) : Json(); }

/// The summary is added by the kind, and the number of what makes its command fail.
Json heading(const KeptReport& kept, const std::string& title) {
    return {{"kind", kept.kind},
            {"title", title},
            {"label", page_label(kept.command)},
            {"heading", kept.written},
            {"environment", kept.environment},
            {"command", command_text(kept.command)}};
}

std::string backend_of(const Json& report, const char* member = "backend") {
    return short_name(report.at(member).get<std::string>());
}

// ---- profile

/// The members of a call that the page shows, in the order of their columns.
constexpr const char* kTexts[] = {"name", "case", "phase", "layer", "dtype", "error"};
constexpr const char* kFigures[] = {"median_s", "low_s", "high_s", "roof_s", "flops", "bytes", "allocated_bytes"};

Json shapes_of(const Json& call) {
    std::string text;
    for (const Json& shape : call.value("shapes", Json::array())) {
        text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(shape.get<std::vector<int64_t>>(), ", "));
    }
    return text;
}

Json call_row(const Json& call, const std::string& base) {
    Json row = Json::array();
    for (const char* member : kTexts) row.push_back(call.value(member, ""));
    for (const char* member : kFigures) {
        row.push_back(call.contains(member) ? rounded(call[member].get<double>()) : Json());
    }
    row.push_back(shapes_of(call));
    row.push_back(call.value("launch_bound", false));
    if (!call.contains(base)) return row;
    const Json& compared = call[base];
    for (const char* member : {"ratio", "low", "high", "median_s"}) {
        row.push_back(compared.at(member).is_null() ? Json() : rounded(compared.at(member).get<double>()));
    }
    row.push_back(compared.at("verdict"));
    return row;
}

Json columns() {
    Json names = Json::array();
    for (const char* member : kTexts) names.push_back(member);
    for (const char* member : kFigures) names.push_back(member);
    for (const char* member : {"shapes", "launch_bound", "ratio", "low", "high", "base_s", "verdict"}) {
        names.push_back(member);
    }
    return names;
}

Json profile_data(const KeptReport& kept) {
    const Json& report = *kept.report;
    const std::string backend = backend_of(report);
    Json data = heading(kept, "diopi profile: " + backend);
    const std::string base = report.contains("against") ? "against" : "baseline";
    int64_t measured = 0;
    Json calls = Json::array();
    for (const Json& call : report.at("calls")) {
        measured += call.contains("function") && !call.contains("error") ? 1 : 0;
        // A row without a function only encloses others.
        if (call.contains("function") || call.contains("error")) calls.push_back(call_row(call, base));
    }
    data["summary"] =
        fmt::format("{} measured on {}, {}.", counted(measured, "call"), backend, report.at("mode").get<std::string>());
    data["roofs"] = report.at("roofs");
    data["columns"] = columns();
    data["calls"] = std::move(calls);
    data["failures"] = 0;
    if (!report.contains(base)) return data;
    data["failures"] = base == "baseline" ? report[base].at("slower") : Json(0);
    data["base"] = report[base];
    data["base"]["name"] = base == "baseline" ? "the baseline" : backend_of(report[base]);
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
            {"note", row.only_in.empty() ? note_of(row) : row.error},
            {"max_abs", rounded(row.max_abs)},
            {"max_rel", rounded_or_null(row.max_rel)},
            {"cosine", row.cosine ? json_number(*row.cosine) : Json()},
            {"allowed", row.only_in.empty() ? fmt::format("{:.3g} + {:.3g} |x|", row.atol, row.rtol) : ""},
            {"inputs", row.inputs},
            {"outputs", row.outputs},
            {"alone", !row.only_in.empty()}};
}

/// The tensors of a capture in the order of its calls: where, name, layer, 1 - cosine, largest difference, differs.
/// Nothing for cases, which have no order.
Json course_json(const std::vector<CompareRow>& rows) {
    Json list = Json::array();
    for (const CompareRow& row : rows) {
        if (!row.where.starts_with("call ")) return Json::array();
        if (!row.compared()) continue;
        list.push_back({row.where, row.name, row.layer, row.cosine ? rounded(1 - *row.cosine) : Json(),
                        rounded(row.max_abs), !row.allclose});
    }
    return list;
}

Json compare_data(const KeptReport& kept) {
    std::vector<CompareRow> rows;
    for (const Json& tensor : kept.report->at("tensors")) rows.push_back(compare_row_of(tensor));
    const CompareSides sides{backend_of(*kept.report), backend_of(*kept.report, "against")};
    const std::string title = fmt::format("{} and {}", sides.backend, sides.against);
    Json data = heading(kept, "diopi compare: " + title);
    data["summary"] = compare_summary(rows, sides);
    data["sides"] = {sides.backend, sides.against};
    data["ulp_bins"] = UlpHistogram::kTitles;
    data["operators"] = operators_json(rows, sides);
    data["course"] = course_json(rows);
    Json& differences = data["differences"] = Json::array();
    for (const CompareRow& row : rows) {
        if (row.differs()) differences.push_back(difference_json(row));
    }
    data["failures"] = differences.size();
    Json& skipped = data["skipped"] = Json::array();
    for (const SkippedCalls& calls : skipped_in(rows)) {
        skipped.push_back(
            {{"reason", calls.reason}, {"calls", calls.calls}, {"first", calls.first}, {"names", calls.names()}});
    }
    return data;
}

// ---- fallback-sim

Json fallback_data(const KeptReport& kept) {
    const Json& report = *kept.report;
    const std::string backend = backend_of(report), to = backend_of(report, "to");
    Json data = heading(kept, fmt::format("diopi fallback-sim: from {} to {}", backend, to));
    int64_t calls = 0;
    for (const Json& row : report.at("fallback")) calls += row.at("calls").get<int64_t>();
    data["summary"] = fmt::format("{} of {} calls fall back to {}.", calls, report.at("calls").get<int64_t>(), to);
    data["failures"] = 0;
    data["sides"] = {backend, to};
    for (const char* member : {"fallback", "missing", "step_s", "step_with_fallback_s", "results", "changed"}) {
        data[member] = report.at(member);
    }
    return data;
}

Json bisect_data(const KeptReport& kept) {
    const Json& report = *kept.report;
    const std::string backend = backend_of(report);
    Json data = heading(kept, "diopi fallback-sim --bisect: " + backend);
    data["summary"] = fmt::format("{}: {} to blame after {}.", report.at("end").get<std::string>(),
                                  counted(static_cast<int64_t>(report.at("functions").size()), "function"),
                                  counted(report.at("replays").get<int64_t>(), "replay"));
    data["failures"] = report.at("functions").size();
    for (const char* member : {"reason", "flaky", "functions", "calls"}) data[member] = report.at(member);
    return data;
}

Json kept_data(const KeptReport& kept) {
    if (kept.kind == "profile") return profile_data(kept);
    if (kept.kind == "compare") return compare_data(kept);
    return kept.kind == "fallback" ? fallback_data(kept) : bisect_data(kept);
}

}  // namespace

Result<Json> page_data(const KeptReport& kept) {
    try {
        return kept_data(kept);
    } catch (const Json::exception& e) {
        return bad_input(fmt::format("the kept report of {} is damaged ({}); run it again", kept.kind, e.what()));
    }
}

}  // namespace diopi
