#include "report/kept_records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/summary.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

/// Runs a reader, whose exceptions say what the report lacks.
template <class Record>
Result<Record> record_in(const KeptReport& kept, Record (*read)(const Json& report)) {
    try {
        return read(*kept.report);
    } catch (const Json::exception& e) {
        return bad_input(fmt::format("the kept report of {} is damaged ({}); run it again", kept.kind, e.what()));
    }
}

std::string backend_in(const Json& report, const char* member = "backend") {
    return short_name(report.at(member).get<std::string>());
}

std::optional<double> figure_of(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

std::optional<double> figure_in(const Json& object, const char* member) {
    const auto found = object.find(member);
    return found == object.end() ? std::nullopt : figure_of(*found);
}

// ---- profile

std::string shapes_in(const Json& call) {
    std::string text;
    for (const Json& shape : call.value("shapes", Json::array())) {
        text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(shape.get<std::vector<int64_t>>(), ", "));
    }
    return text;
}

KeptRatio ratio_in(const Json& compared) {
    return {figure_of(compared.at("ratio")), figure_of(compared.at("low")), figure_of(compared.at("high")),
            figure_of(compared.at("median_s")), compared.at("verdict")};
}

KeptCall call_in(const Json& json, const char* base) {
    KeptCall call;
    for (const auto& [member, text] : kCallTexts) call.*text = json.value(member, "");
    for (const auto& [member, figure] : kCallFigures) call.*figure = figure_in(json, member);
    call.shapes = shapes_in(json);
    call.launch_bound = json.value("launch_bound", false);
    if (json.contains(base)) call.ratio = ratio_in(json[base]);
    return call;
}

KeptBase base_in(const Json& report, const char* member) {
    const Json& json = report.at(member);
    const bool is_baseline = std::string_view(member) == "baseline";
    KeptBase base;
    base.name = is_baseline ? "the baseline" : backend_in(json);
    base.member = member;
    const std::pair<const char*, int64_t KeptBase::*> counts[] = {{"compared", &KeptBase::compared},
                                                                  {"slower", &KeptBase::slower},
                                                                  {"faster", &KeptBase::faster},
                                                                  {"same", &KeptBase::same},
                                                                  {"ambiguous", &KeptBase::ambiguous}};
    for (const auto& [name, count] : counts) base.*count = json.value(name, int64_t{0});
    base.geometric_mean = figure_in(json, "geometric_mean");
    return base;
}

KeptProfile read_profile_report(const Json& report) {
    KeptProfile profile;
    const std::string backend = backend_in(report);
    const char* const base = report.contains("against") ? "against" : "baseline";
    int64_t measured = 0;
    for (const Json& call : report.at("calls")) {
        measured += call.contains("function") && !call.contains("error") ? 1 : 0;
        // A row without a function only encloses others.
        if (call.contains("function") || call.contains("error")) profile.calls.push_back(call_in(call, base));
    }
    profile.heading = {"diopi profile: " + backend, backend,
                       fmt::format("{} measured on {}, {}.", counted(measured, "call"), backend,
                                   report.at("mode").get<std::string>())};
    const Json& roofs = report.at("roofs");
    for (const Json& copy : roofs.at("copy")) profile.copies.push_back({copy.at("bytes"), copy.at("bytes_per_s")});
    for (const auto& [dtype, flops] : roofs.at("matmul_flops_per_s").items()) {
        profile.products.emplace_back(dtype, flops.get<double>());
    }
    profile.empty_call = roofs.at("empty_call_s");
    if (!report.contains(base)) return profile;
    profile.base = base_in(report, base);
    // Another implementation may be faster: only a baseline makes the command fail.
    if (std::string_view(base) == "baseline") profile.heading.failures = profile.base->slower;
    return profile;
}

// ---- compare

KeptComparison read_compare_report(const Json& report) {
    KeptComparison comparison;
    for (const Json& tensor : report.at("tensors")) comparison.rows.push_back(compare_row_of(tensor));
    comparison.sides = {backend_in(report), backend_in(report, "against")};
    const std::string subject = fmt::format("{} and {}", comparison.sides.backend, comparison.sides.against);
    comparison.heading = {"diopi compare: " + subject, subject, compare_summary(comparison.rows, comparison.sides),
                          std::ranges::count_if(comparison.rows, &CompareRow::differs)};
    return comparison;
}

// ---- fallback-sim

KeptFallback read_fallback_report(const Json& report) {
    KeptFallback fallback{{}, fallback_record_of(report)};
    FallbackRecord& record = fallback.record;
    record.backend = short_name(record.backend);
    record.other = short_name(record.other);
    int64_t calls = 0;
    for (const FallbackRow& row : record.rows) calls += row.calls;
    const std::string subject = fmt::format("from {} to {}", record.backend, record.other);
    fallback.heading = {"diopi fallback-sim: " + subject, subject,
                        fmt::format("{} of {} calls fall back to {}.", calls, record.calls, record.other)};
    return fallback;
}

SearchEnd search_end_of(const Json& json) {
    const auto text = json.get<std::string>();
    for (const SearchEnd end : {SearchEnd::kFound, SearchEnd::kNothingWrong, SearchEnd::kElsewhere,
                                SearchEnd::kNotMonotone, SearchEnd::kTooMany, SearchEnd::kInterrupted}) {
        if (text == name(end)) return end;
    }
    throw Json::other_error::create(501, "unknown end " + text, &json);
}

KeptBisection read_bisect_report(const Json& report) {
    KeptBisection bisection;
    BisectRecord& record = bisection.record;
    record.backend = backend_in(report);
    record.other = backend_in(report, "to");
    record.end = search_end_of(report.at("end"));
    record.reason = report.at("reason");
    record.flaky = report.at("flaky");
    record.replays = report.at("replays");
    for (const Json& function : report.at("functions")) {
        record.functions.push_back(
            {function.at("function"), function.at("overloads").get<std::vector<std::string>>(), function.at("calls")});
    }
    for (const Json& call : report.at("calls")) {
        record.calls.push_back(
            {call.at("call"), call.at("overload"), call.at("function"), call.at("layer"), call.at("source")});
    }
    const auto functions = static_cast<int64_t>(record.functions.size());
    bisection.heading = {"diopi fallback-sim --bisect: " + record.backend, record.backend,
                         fmt::format("{}: {} to blame after {}.", name(record.end), counted(functions, "function"),
                                     counted(record.replays, "replay")),
                         functions};
    return bisection;
}

}  // namespace

Result<KeptProfile> profile_in(const KeptReport& kept) { return record_in(kept, read_profile_report); }
Result<KeptComparison> comparison_in(const KeptReport& kept) { return record_in(kept, read_compare_report); }
Result<KeptFallback> fallback_in(const KeptReport& kept) { return record_in(kept, read_fallback_report); }
Result<KeptBisection> bisection_in(const KeptReport& kept) { return record_in(kept, read_bisect_report); }

}  // namespace diopi
