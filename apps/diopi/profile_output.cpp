#include "profile_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/profile.hpp"
#include "report/profile_table.hpp"
#include "report/terminal.hpp"
#include "target.hpp"
#include "timing/roofs.hpp"
#include "timing/timing.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kNarrowest = 80, kWidest = 200;

Json json_of(const SpeedComparison& comparison) {
    const Interval& ratio = comparison.ratio;
    return {{"verdict", name(comparison.verdict)},
            {"ratio", ratio.value},
            {"low", ratio.low},
            {"high", std::isinf(ratio.high) ? Json() : Json(ratio.high)},
            {"p", comparison.p}};
}

/// Members without a meaning for this call are left out.
Json json_of(const Profile& profile, const ProfiledCall& call, const SpeedComparison* comparison) {
    Json json = {{"name", call.name}};
    const std::pair<const char*, const std::string*> texts[] = {{"case", &call.case_id},
                                                                {"function", &call.function},
                                                                {"phase", &call.phase},
                                                                {"layer", &call.layer},
                                                                {"overload", &call.overload}};
    for (const auto& [key, text] : texts) {
        if (!text->empty()) json[key] = *text;
    }
    if (!call.trouble.empty()) {
        json["error"] = call.trouble;
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
    if (comparison != nullptr) json["baseline"] = json_of(*comparison);
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

/// Layers as a list, each behind the one around it.
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

/// What the time was too short for, and how to give more. Empty where nothing was cut.
std::string cut_text(const Profile& profile, const ProfileOutput& output) {
    const auto limited = std::ranges::count_if(
        profile.calls, [](const ProfiledCall& call) { return call.stop == name(Stop::kTimeLimit); });
    if (output.budget_seconds <= 0 || (limited == 0 && profile.left_out == 0)) return "";
    std::string text = fmt::format("Cut to {:.0f} s: ", output.budget_seconds);
    if (profile.left_out > 0) text += fmt::format("{} of {} passes, ", profile.pace.size(), output.passes);
    return text + fmt::format("time limit for {} call{}; --passes {} measures in full, --max-time S longer per call\n",
                              limited, limited == 1 ? "" : "s", output.passes);
}

std::string comparison_text(const ProfileComparison& comparison) {
    std::string text =
        fmt::format("Against the baseline: {} calls: {} SLOWER, {} FASTER, {} SAME, {} AMBIGUOUS", comparison.compared,
                    comparison.slower, comparison.faster, comparison.same, comparison.ambiguous);
    if (comparison.unknown > 0) text += fmt::format("; {} are new", comparison.unknown);
    if (comparison.gone > 0) text += fmt::format("; {} of the baseline did not run", comparison.gone);
    text += "\n";
    if (std::abs(comparison.drift - 1) > 0.02) {
        text += fmt::format("The machine itself is {:.1f}% {} than then; ratios are corrected for it, and less sure\n",
                            100 * std::abs(comparison.drift - 1), comparison.drift > 1 ? "slower" : "faster");
    }
    return text;
}

}  // namespace

Status print_profile(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                     const ProfileOutput& output) {
    std::vector<ProfileRow> rows =
        comparison ? profile_rows(profile, output.grouping, comparison->calls) : profile_rows(profile, output.grouping);
    if (Status s = sort_profile_rows(rows, output.sort_by); !s.ok()) return s;
    ProfileTableOptions table;
    table.memory = output.memory;
    table.row_limit = output.row_limit;
    table.shapes = output.grouping == ProfileGrouping::kShape || output.grouping == ProfileGrouping::kCall;
    table.cases = output.grouping == ProfileGrouping::kCall;
    table.stops = output.budget_seconds > 0;
    const int width = std::clamp(terminal_width(stdout), kNarrowest, kWidest);
    if (!output.quiet) fmt::print("{}\n", profile_table(profile, rows, table, width, use_colour(stdout)));
    fmt::print("{}", profile_footer(profile, rows));
    const auto measured =
        std::ranges::count_if(profile.calls, [](const ProfiledCall& call) { return !call.runs.empty(); });
    const size_t passes = profile.pace.size();
    fmt::print("{} call{} on {}, {}, {} pass{}\n", measured, measured == 1 ? "" : "s", profile.backend, profile.mode,
               passes, passes == 1 ? "" : "es");
    fmt::print("{}", cut_text(profile, output));
    if (output.not_implemented > 0) {
        fmt::print("{} cases not implemented by {}\n", output.not_implemented, profile.backend);
    }
    if (comparison) fmt::print("{}", comparison_text(*comparison));
    print_adapted(output.adapted);
    return {};
}

void print_roofs(const Backend& backend, const Roofs& roofs, const Roofs* tf32, bool json) {
    std::vector<std::pair<std::string, double>> products;
    for (const Roofs::Matmul& roof : roofs.matmul) {
        const bool is_tf32 = backend.is_tf32() && roof.dtype == Dtype::float32;
        products.emplace_back(is_tf32 ? "tf32" : name(roof.dtype), roof.flops);
        if (tf32 != nullptr && roof.dtype == Dtype::float32) {
            products.emplace_back("tf32", matmul_roof(*tf32, Dtype::float32));
        }
    }
    if (json) {
        Json all = {{"backend", backend.name()}};
        all.update(json_of(roofs));
        Json& matmul = all["matmul_flops_per_s"] = Json::object();
        for (const auto& [dtype, flops] : products) matmul[dtype] = flops;
        fmt::print("{}\n", all.dump(2));
        return;
    }
    fmt::print("Roofs of {}\n", backend.name());
    for (const Roofs::Copy& copy : roofs.copies) {
        fmt::print("copy {:>8} KiB  {:>10.1f} GB/s\n", copy.bytes >> 10, copy.rate * 1e-9);
    }
    for (const auto& [dtype, flops] : products) fmt::print("matmul {:>10}  {:>10.1f} GFLOP/s\n", dtype, flops * 1e-9);
    fmt::print("empty call         {:>10}\n", time_text(roofs.empty_call));
}

void print_profile_json(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                        const ProfileOutput& output) {
    Json calls = Json::array();
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const bool has = comparison && comparison->calls[i].has_value();
        calls.push_back(json_of(profile, profile.calls[i], has ? &*comparison->calls[i] : nullptr));
    }
    Json json = {
        {"backend", profile.backend},      {"mode", profile.mode}, {"seed", profile.seed},
        {"roofs", json_of(profile.roofs)}, {"calls", calls},       {"not_implemented", output.not_implemented}};
    if (output.passes > 0) {
        json["passes"] = profile.pace.size();
        json["passes_wanted"] = output.passes;
    }
    if (!output.adapted.empty()) json["adaptor"] = Json::parse(adaptor_json(output.adapted));
    if (output.grouping == ProfileGrouping::kLayer) json["layers"] = layers_json(profile);
    if (comparison) {
        json["baseline"] = {{"compared", comparison->compared},   {"slower", comparison->slower},
                            {"faster", comparison->faster},       {"same", comparison->same},
                            {"ambiguous", comparison->ambiguous}, {"drift", comparison->drift}};
    }
    fmt::print("{}\n", json.dump(2));
}

}  // namespace diopi
