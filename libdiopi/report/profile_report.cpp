#include "report/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "profile_data/profile_figures.hpp"
#include "report/csv.hpp"
#include "report/profile_table.hpp"
#include "report/row_sum.hpp"
#include "report/summary.hpp"

namespace diopi {

namespace {

Json json_of(const SpeedComparison& comparison) {
    const Interval& ratio = comparison.ratio;
    return {{"verdict", name(comparison.verdict)},
            {"median_s", comparison.base},
            {"ratio", ratio.value},
            {"low", ratio.low},
            {"high", std::isinf(ratio.high) ? Json() : Json(ratio.high)},
            {"p", comparison.p}};
}

/// Members without a meaning for this call are left out.
Json json_of(const Profile& profile, const ProfiledCall& call, const SpeedComparison* comparison, const char* base) {
    Json json = {{"name", call.name}};
    const std::pair<const char*, const std::string*> texts[] = {{"case", &call.case_id},
                                                                {"function", &call.function},
                                                                {"phase", &call.phase},
                                                                {"layer", &call.layer},
                                                                {"overload", &call.overload}};
    for (const auto& [key, text] : texts) {
        if (!text->empty()) json[key] = *text;
    }
    if (!call.error.empty()) {
        json["error"] = call.error;
        return json;
    }
    const Summary t = summary_of(call, profile.has_device_time);
    json["dtype"] = name(call.dtype);
    json["shapes"] = call.shapes;
    json.update({{"median_s", t.median},
                 {"low_s", t.low},
                 {"high_s", t.high},
                 {"min_s", t.min},
                 {"q1_s", t.q1},
                 {"q3_s", t.q3},
                 {"samples", t.samples},
                 {"discarded", t.discarded},
                 {"batch", call.batch},
                 {"warmup", call.warmup},
                 {"stop", call.stop},
                 {"flops", call.flops},
                 {"bytes", call.bytes},
                 {"allocated_bytes", call.allocated},
                 {"freed_bytes", call.freed}});
    const double roof = roof_seconds(profile.roofs, call);
    if (roof > 0 && t.median > 0) {
        json["roof_s"] = roof;
        json["share_of_roof"] = roof / t.median;
        json["launch_bound"] = roof < profile.roofs.empty_call;
        json["invalid"] = roof > kMostOfRoof * t.median;
    }
    if (comparison != nullptr) json[base] = json_of(*comparison);
    return json;
}

Json json_of(const Roofs& roofs) {
    Json copies = Json::array(), matmul = Json::object();
    for (const Roofs::Copy& copy : roofs.copies) {
        copies.push_back({{"bytes", copy.bytes}, {"bytes_per_s", copy.rate}});
    }
    for (const Roofs::Matmul& roof : roofs.matmul) matmul[std::string(name(roof.dtype))] = roof.flops;
    return {{"copy", copies}, {"matmul_flops_per_s", matmul}, {"empty_call_s", roofs.empty_call}};
}

/// Layers as a list, each after its parent layer.
Json layers_json(const Profile& profile) {
    Json layers = Json::array();
    for (const ProfileRow& row : profile_rows(profile, ProfileGrouping::kLayer)) {
        Json& layer = layers.emplace_back(Json{{"name", row.name},
                                               {"depth", row.depth},
                                               {"calls", row.calls},
                                               {"self_cpu_s", row.self_cpu},
                                               {"total_cpu_s", row.total_cpu}});
        if (!profile.has_device_time) continue;
        layer["self_device_s"] = row.self_device;
        layer["total_device_s"] = row.total_device;
    }
    return layers;
}

/// The measurements that were cut short, and how to give them more time. Empty if there were none.
std::string cut_text(const Profile& profile, const ProfileView& view) {
    const auto limited =
        std::ranges::count_if(profile.calls, [](const ProfiledCall& call) { return call.stop == kTimeLimit; });
    if (view.budget_seconds <= 0 || (limited == 0 && profile.left_out == 0)) return "";
    std::string text = fmt::format("Cut to {:.0f} s: ", view.budget_seconds);
    if (profile.left_out > 0) text += fmt::format("{} of {} passes, ", profile.pace.size(), view.passes);
    return text + fmt::format("time limit for {} call{}; --passes {} measures in full, --max-time S longer per call\n",
                              limited, limited == 1 ? "" : "s", view.passes);
}

std::string comparison_text(const Profile& profile, const ProfileComparison& comparison) {
    const bool is_baseline = comparison.against.empty();
    const std::string own = short_name(profile.backend), against = short_name(comparison.against);
    std::string text = fmt::format("Against {}: {} calls: {} SLOWER, {} FASTER, {} SAME, {} AMBIGUOUS",
                                   is_baseline ? "the baseline" : against, comparison.compared, comparison.slower,
                                   comparison.faster, comparison.same, comparison.ambiguous);
    if (comparison.unknown > 0) {
        text += is_baseline ? fmt::format("; {} are new", comparison.unknown)
                            : fmt::format("; {} only here ({})", comparison.unknown, comparison.error);
    }
    if (is_baseline && comparison.gone > 0) text += fmt::format("; {} of the baseline did not run", comparison.gone);
    text += "\n";
    if (std::abs(comparison.drift - 1) > 0.02) {
        text += fmt::format(
            "The machine itself is {:.1f}% {} than in that run; ratios are corrected for it, and less certain\n",
            100 * std::abs(comparison.drift - 1), comparison.drift > 1 ? "slower" : "faster");
    }
    if (is_baseline || comparison.compared == 0) return text;
    if (comparison.empty_call > 0 && profile.roofs.empty_call > 0) {
        text += fmt::format("Launch (a call on one element): {} {}, {} {}\n", own, time_text(profile.roofs.empty_call),
                            against, time_text(comparison.empty_call));
    }
    return text + fmt::format("Geometric mean of the ratios: {:.3f}, so {} is {:.2f} times as fast as {}\n",
                              comparison.geometric_mean, own, 1 / comparison.geometric_mean, against);
}

/// Products by the names of their dtypes, "tf32" for those of float32 factors in TF32.
std::vector<std::pair<std::string, double>> products_of(const MeasuredRoofs& measured) {
    std::vector<std::pair<std::string, double>> products;
    for (const Roofs::Matmul& roof : measured.roofs.matmul) {
        const bool is_tf32 = measured.is_tf32 && roof.dtype == Dtype::float32;
        products.emplace_back(is_tf32 ? "tf32" : name(roof.dtype), roof.flops);
        if (measured.tf32 && roof.dtype == Dtype::float32) {
            products.emplace_back("tf32", matmul_roof(*measured.tf32, Dtype::float32));
        }
    }
    return products;
}

}  // namespace

Result<std::string> profile_report(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                                   const ProfileView& view, const Screen& screen) {
    std::vector<ProfileRow> rows =
        comparison ? profile_rows(profile, view.grouping, comparison->calls) : profile_rows(profile, view.grouping);
    if (Status s = sort_profile_rows(rows, view.sort_by); !s.ok()) return s.error();
    ProfileTableOptions table;
    table.memory = view.memory;
    table.row_limit = view.row_limit;
    table.shapes = view.grouping == ProfileGrouping::kShape || view.grouping == ProfileGrouping::kCall;
    table.cases = view.grouping == ProfileGrouping::kCall;
    table.stops = view.budget_seconds > 0;
    if (comparison && !comparison->against.empty()) table.base = "Against";
    std::string text;
    if (!view.quiet) text += profile_table(profile, rows, table, screen.width, screen.colour) + "\n";
    text += profile_footer(profile, rows);
    const auto measured =
        std::ranges::count_if(profile.calls, [](const ProfiledCall& call) { return !call.runs.empty(); });
    const size_t passes = profile.pace.size();
    text += fmt::format("{} call{} on {}, {}, {} pass{}\n", measured, measured == 1 ? "" : "s", profile.backend,
                        profile.mode, passes, passes == 1 ? "" : "es");
    text += cut_text(profile, view);
    if (view.not_implemented > 0) {
        text += fmt::format("{} cases not implemented by {}\n", view.not_implemented, profile.backend);
    }
    if (comparison) text += comparison_text(profile, *comparison);
    return text + adapted_text(view.adapted, screen);
}

std::string roofs_text(const MeasuredRoofs& measured) {
    std::string text = fmt::format("Roofs of {}\n", measured.backend);
    for (const Roofs::Copy& copy : measured.roofs.copies) {
        text += fmt::format("copy {:>8} KiB  {:>10.1f} GB/s\n", copy.bytes >> 10, copy.rate * 1e-9);
    }
    for (const auto& [dtype, flops] : products_of(measured)) {
        text += fmt::format("matmul {:>10}  {:>10.1f} GFLOP/s\n", dtype, flops * 1e-9);
    }
    return text + fmt::format("empty call         {:>10}\n", time_text(measured.roofs.empty_call));
}

std::string roofs_json(const MeasuredRoofs& measured) {
    Json all = {{"backend", measured.backend}};
    all.update(json_of(measured.roofs));
    Json& matmul = all["matmul_flops_per_s"] = Json::object();
    for (const auto& [dtype, flops] : products_of(measured)) matmul[dtype] = flops;
    return indented(all);
}

std::string profile_report_json(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                                const ProfileView& view) {
    Json calls = Json::array();
    const char* const base = comparison && !comparison->against.empty() ? "against" : "baseline";
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const bool has = comparison && comparison->calls[i].has_value();
        calls.push_back(json_of(profile, profile.calls[i], has ? &*comparison->calls[i] : nullptr, base));
    }
    Json json = {{"backend", profile.backend},      {"mode", profile.mode}, {"seed", profile.seed},
                 {"roofs", json_of(profile.roofs)}, {"calls", calls},       {"not_implemented", view.not_implemented}};
    if (view.passes > 0) {
        json["passes"] = profile.pace.size();
        json["passes_wanted"] = view.passes;
    }
    if (!view.adapted.empty()) json["adaptor"] = parse_own(adaptor_json(view.adapted));
    if (view.grouping == ProfileGrouping::kLayer) json["layers"] = layers_json(profile);
    if (comparison) {
        Json& all = json[base] = {{"compared", comparison->compared},   {"slower", comparison->slower},
                                  {"faster", comparison->faster},       {"same", comparison->same},
                                  {"ambiguous", comparison->ambiguous}, {"drift", comparison->drift}};
        if (comparison->geometric_mean > 0) all["geometric_mean"] = comparison->geometric_mean;
        if (!comparison->against.empty()) {
            all["backend"] = comparison->against;
            all["empty_call_s"] = comparison->empty_call;
            all["only_here"] = comparison->unknown;
        }
    }
    return indented(json);
}

std::string profile_csv(const Profile& profile, const std::optional<ProfileComparison>& comparison) {
    const auto number = [](double x) { return fmt::format("{}", x); };
    std::string text = csv_row({"name",          "case",  "function",  "phase",      "layer",   "dtype", "shapes",
                                "median_s",      "low_s", "high_s",    "samples",    "flops",   "bytes", "roof_s",
                                "base_median_s", "ratio", "ratio_low", "ratio_high", "verdict", "error"});
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        std::vector<std::string> fields = {call.name,        call.case_id, call.function,
                                           call.phase,       call.layer,   std::string(name(call.dtype)),
                                           shapes_text(call)};
        const Summary t = summary_of(call, profile.has_device_time);
        const double roof = roof_seconds(profile.roofs, call);
        for (const double x : {t.median, t.low, t.high, static_cast<double>(t.samples), call.flops, call.bytes}) {
            fields.push_back(call.runs.empty() ? "" : number(x));
        }
        fields.push_back(call.runs.empty() || roof == 0 ? "" : number(roof));
        const SpeedComparison* made = comparison ? comparison_of(comparison->calls, i) : nullptr;
        if (made == nullptr) {
            fields.insert(fields.end(), 5, "");
        } else {
            for (const double x : {made->base, made->ratio.value, made->ratio.low, made->ratio.high}) {
                fields.push_back(number(x));
            }
            fields.emplace_back(name(made->verdict));
        }
        fields.push_back(call.error);
        text += csv_row(fields);
    }
    return text;
}

std::string profile_seed_lines(const Profile& profile) {
    std::string text;
    for (const ProfiledCall& call : profile.calls) {
        if (call.function.empty() || call.runs.empty()) continue;
        const bool is_backward = call.phase == "backward";
        text +=
            fmt::format("SyncExecuteTimer: {} {} elasped {:.8f} ms\n", call.name, is_backward ? "backward" : "forward",
                        summary_of(call, profile.has_device_time).median * 1e3);
    }
    return text;
}

std::string missing_text(const Profile& profile) {
    std::map<std::string, int64_t> missing;
    for (const ProfiledCall& call : profile.calls) {
        if (!call.error.empty()) ++missing[call.name];
    }
    std::string text;
    for (const auto& [name, calls] : missing) text += fmt::format("not implemented: {} ({} calls)\n", name, calls);
    return text;
}

std::vector<std::string> error_lines(const Profile& profile) {
    std::vector<std::string> lines;
    for (const ProfiledCall& call : profile.calls) {
        if (call.error.empty()) continue;
        lines.push_back(fmt::format("{}: {}", call.case_id.empty() ? call.name : call.case_id, call.error));
    }
    return lines;
}

std::vector<std::string> device_warnings(const Profile& profile) {
    std::vector<std::string> lines;
    if (!profile.unrecorded.empty()) {
        lines.push_back("the trace lacks the device's kernels: " + profile.unrecorded);
    }
    std::map<std::string, int64_t> reasons;
    for (const std::string& reason : profile.slowdowns) ++reasons[reason];
    for (const auto& [reason, times] : reasons) {
        lines.push_back(
            fmt::format("the device reduced its speed ({}), seen {} time{}", reason, times, times == 1 ? "" : "s"));
    }
    return lines;
}

}  // namespace diopi
