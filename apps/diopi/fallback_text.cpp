#include "fallback_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "call/call_name.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

std::string described(const TensorPtr& tensor) {
    if (tensor == nullptr) return "None";
    return fmt::format("{{shape: {}, dtype: {}, device: {}}}", to_string(tensor->shape), name(tensor->dtype),
                       tensor->storage.device == diopi_host ? "cpu" : "device");
}

/// The call's tensors that `wanted` picks, in order.
template <class Wanted>
std::string described(const Call& call, Wanted wanted) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (!wanted(call.row->args()[i])) continue;
        if (const auto* tensor = std::get_if<TensorPtr>(&call.args[i])) texts.push_back(described(*tensor));
        if (const auto* list = std::get_if<TensorList>(&call.args[i])) {
            for (const TensorPtr& tensor : *list) texts.push_back(described(tensor));
        }
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string step_time_text(double seconds) { return fmt::format("{:.3f}ms", seconds * 1e3); }

std::string bytes_text(int64_t nbytes) {
    if (nbytes < 10000) return fmt::format("{} B", nbytes);
    if (nbytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(nbytes) * 1e-3);
    return fmt::format("{:.1f} MB", static_cast<double>(nbytes) * 1e-6);
}

Json encode(const Transfers& transfers) {
    return {{"copies", transfers.copies}, {"bytes", transfers.nbytes}, {"seconds", transfers.seconds}};
}

Transfers transfers_from(const Json& json) { return {json["copies"], json["bytes"], json["seconds"]}; }

/// JSON has no NaN.
Json encode(double x) { return std::isfinite(x) ? Json(x) : Json(fmt::format("{}", x)); }
double number_from(const Json& json) { return json.is_number() ? json.get<double>() : std::nan(""); }

constexpr FallbackReason kReasons[] = {FallbackReason::kForced, FallbackReason::kNotImplemented,
                                       FallbackReason::kDeclined};

void print_changes(const FallbackReport& report) {
    if (report.changed.empty()) {
        fmt::print("{}\n", report.results == 1 ? "The one result does not change."
                                               : fmt::format("None of the {} results changes.", report.results));
        return;
    }
    const auto beyond = std::ranges::count(report.changed, false, &ChangedResult::within);
    fmt::print("{} of {} results change, {} of them beyond the tolerance (--tolerance).\n", report.changed.size(),
               report.results, beyond);
    Table table({{"Result", Align::kLeft, 55}, {"Max diff", Align::kRight}, {"Max relative", Align::kRight}});
    constexpr size_t kMost = 10;
    for (size_t i = 0; i < std::min(kMost, report.changed.size()); ++i) {
        const ChangedResult& change = report.changed[i];
        table.add_row({change.tensor, fmt::format("{:.3g}", change.max_abs), fmt::format("{:.3g}", change.max_rel)},
                      change.within ? Style::kPlain : Style::kRed);
    }
    table.print(stdout);
    if (report.changed.size() > kMost) fmt::print("... and {} more (--json)\n", report.changed.size() - kMost);
}

/// What a step takes; where nothing is forced there is just one kind of step.
void print_step(const FallbackReport& report, std::string_view backend, std::string_view other) {
    const double step = report.step_seconds, with = report.step_seconds_with;
    const bool forced = std::ranges::count(report.rows, FallbackReason::kForced, &FallbackRow::reason) > 0;
    if (forced) {
        fmt::print("A step on {} takes {}, with the listed operators on {} {} ({:.2f} times).\n", backend,
                   step_time_text(step), other, step_time_text(with), with / step);
    } else {
        fmt::print("A step on {} takes {}.\n", backend, step_time_text(step));
    }
    if (report.waited_seconds <= 0) return;
    const double waited = report.waited_seconds, waited_with = report.waited_seconds_with;
    if (forced) {
        fmt::print("The clock on the wall says {} and {}: {:.1f}% and {:.1f}% of it were predicted.\n",
                   step_time_text(waited), step_time_text(waited_with), 100 * step / waited, 100 * with / waited_with);
    } else {
        fmt::print("The clock on the wall says {}: {:.1f}% of it were predicted.\n", step_time_text(waited),
                   100 * step / waited);
    }
}

const char* sentence(DeltaDebugging::End end) {
    switch (end) {
        case DeltaDebugging::End::kFound:
            return "found";
        case DeltaDebugging::End::kNothingWrong:
            return "nothing wrong";
        case DeltaDebugging::End::kElsewhere:
            return "elsewhere";
        case DeltaDebugging::End::kNotMonotone:
            return "not monotone";
        case DeltaDebugging::End::kTooMany:
            return "too many";
        case DeltaDebugging::End::kInterrupted:
            return "interrupted";
    }
    return "";
}

void print_calls(const BisectReport& report, const Capture& capture) {
    const DeltaDebugging::End end = report.call_search.end;
    if (end == DeltaDebugging::End::kInterrupted) fmt::print("Interrupted while the calls were searched.\n");
    if (end == DeltaDebugging::End::kTooMany && report.calls.empty()) return;
    if (end == DeltaDebugging::End::kTooMany)
        fmt::print("More calls are wrong than were looked for (--call-replays); the first:\n");
    if (end == DeltaDebugging::End::kNotMonotone) fmt::print("Of its calls, perhaps not the fewest:\n");
    for (const size_t number : report.calls) {
        const CapturedCall& call = capture.calls[number];
        fmt::print("  call {}: {}{}{}\n", number, call.overload, call.layer.empty() ? "" : " in " + call.layer,
                   call.source.empty() ? "" : ", " + call.source);
    }
}

}  // namespace

std::string seed_line(const FallbackEvent& event) {
    const auto is_input = [](const Arg& arg) { return !arg.is_output; };
    const auto is_output = [](const Arg& arg) { return arg.is_output || arg.is_inout; };
    return fmt::format("OpFallbackHook: {:<50} input: {} output: {} cpu output: {}", name_of(event.call),
                       described(event.call, is_input), described(event.call, is_output),
                       described(event.copy, is_output));
}

std::string to_json(const FallbackAnswer& answer) {
    const FallbackReport& report = answer.report;
    Json rows = Json::array(), changed = Json::array();
    for (const FallbackRow& row : report.rows) {
        rows.push_back({{"overload", row.overload},
                        {"function", row.function},
                        {"why", name(row.reason)},
                        {"calls", row.calls},
                        {"in", encode(row.in)},
                        {"out", encode(row.out)},
                        {"device_s", row.device_seconds},
                        {"other_s", row.other_seconds}});
    }
    for (const ChangedResult& change : report.changed) {
        changed.push_back({{"tensor", change.tensor},
                           {"max_abs", encode(change.max_abs)},
                           {"max_rel", encode(change.max_rel)},
                           {"within", change.within}});
    }
    return Json{{"calls", report.calls},
                {"fallback", rows},
                {"missing", report.missing},
                {"step_s", report.step_seconds},
                {"step_with_fallback_s", report.step_seconds_with},
                {"waited_s", report.waited_seconds},
                {"waited_with_fallback_s", report.waited_seconds_with},
                {"results", report.results},
                {"changed", changed},
                {"unmatched", answer.unmatched},
                {"lines", answer.lines}}
        .dump(2, ' ', false, Json::error_handler_t::replace);
}

FallbackAnswer fallback_from_json(const std::string& text) {
    const Json json = Json::parse(text);
    FallbackAnswer answer;
    FallbackReport& report = answer.report;
    report.calls = json["calls"];
    report.missing = json["missing"].get<std::map<std::string, int64_t>>();
    report.step_seconds = json["step_s"];
    report.step_seconds_with = json["step_with_fallback_s"];
    report.waited_seconds = json["waited_s"];
    report.waited_seconds_with = json["waited_with_fallback_s"];
    report.results = json["results"];
    for (const Json& row : json["fallback"]) {
        const auto reason = std::ranges::find(kReasons, row["why"].get<std::string>(),
                                              [](FallbackReason r) { return std::string(name(r)); });
        report.rows.push_back({row["overload"], row["function"], *reason, row["calls"], transfers_from(row["in"]),
                               transfers_from(row["out"]), row["device_s"], row["other_s"]});
    }
    for (const Json& change : json["changed"]) {
        report.changed.push_back(
            {change["tensor"], number_from(change["max_abs"]), number_from(change["max_rel"]), change["within"]});
    }
    answer.unmatched = json["unmatched"].get<std::vector<std::string>>();
    answer.lines = json["lines"].get<std::vector<std::string>>();
    return answer;
}

void print_fallback(const FallbackAnswer& answer, std::string_view backend, std::string_view other) {
    const FallbackReport& report = answer.report;
    Table table({{"Operator", Align::kLeft, 40},
                 {"Function", Align::kLeft, 40, true},
                 {"Why"},
                 {"Calls", Align::kRight},
                 {"Copies in", Align::kRight},
                 {"out", Align::kRight},
                 {"Bytes", Align::kRight},
                 {"Copying", Align::kRight},
                 {fmt::format("On {}", backend), Align::kRight},
                 {fmt::format("On {}", other), Align::kRight}});
    for (const FallbackRow& row : report.rows) {
        table.add_row({row.overload, row.function, std::string(name(row.reason)), fmt::format("{}", row.calls),
                       fmt::format("{}", row.in.copies), fmt::format("{}", row.out.copies),
                       bytes_text(row.in.nbytes + row.out.nbytes), step_time_text(row.in.seconds + row.out.seconds),
                       row.device_seconds > 0 ? step_time_text(row.device_seconds) : "-",
                       step_time_text(row.other_seconds)});
    }
    if (!table.empty()) table.print(stdout);
    int64_t calls = 0;
    for (const FallbackRow& row : report.rows) calls += row.calls;
    fmt::print("{} of {} calls fall back to {}.\n", calls, report.calls, other);
    print_step(report, backend, other);
    print_changes(report);
    for (const auto& [overload, count] : report.missing) {
        fmt::print("not implemented anywhere: {} ({}); its outputs were made up\n", overload, counted(count, "call"));
    }
}

void print_bisect(const BisectReport& report, const Capture& capture, const std::string& repeat) {
    const DeltaDebugging& search = report.function_search;
    switch (search.end) {
        case DeltaDebugging::End::kNothingWrong:
            fmt::print("Nothing is wrong: the capture passes without any fallback ({} replays).\n", report.replays());
            return;
        case DeltaDebugging::End::kElsewhere:
            fmt::print("No operator is to blame alone: it fails though every operator falls back: {}\n", search.reason);
            return;
        case DeltaDebugging::End::kInterrupted:
            fmt::print("Interrupted after {} replays.\n", report.replays());
            return;
        case DeltaDebugging::End::kNotMonotone:
            fmt::print("Fallbacks get in each other's way; this set passes, but may not be the smallest.\n");
            break;
        case DeltaDebugging::End::kTooMany:
        case DeltaDebugging::End::kFound:
            break;
    }
    fmt::print("Without fallback: {}{}\n", search.reason, search.flaky ? " (not each time)" : "");
    fmt::print("To blame:\n");
    for (const BlamedFunction& function : report.functions) {
        fmt::print("  {} ({}), {}\n", function.row->function, fmt::join(function.overloads, ", "),
                   counted(function.calls, "call"));
    }
    print_calls(report, capture);
    fmt::print("{} replays over {} and {}.\n", report.replays(),
               counted(static_cast<int64_t>(report.function_units), "function"),
               counted(static_cast<int64_t>(report.call_units), "call"));
    fmt::print("Repeat with the fallback: {}\n", repeat);
}

std::string to_json(const BisectReport& report, const Capture& capture) {
    Json calls = Json::array();
    for (const size_t number : report.calls) {
        const CapturedCall& call = capture.calls[number];
        calls.push_back({{"call", number},
                         {"overload", call.overload},
                         {"function", call.call->row->function},
                         {"layer", call.layer},
                         {"source", call.source}});
    }
    Json functions = Json::array();
    for (const BlamedFunction& function : report.functions) {
        functions.push_back(
            {{"function", function.row->function}, {"overloads", function.overloads}, {"calls", function.calls}});
    }
    return Json{{"end", sentence(report.function_search.end)},
                {"reason", report.function_search.reason},
                {"flaky", report.function_search.flaky},
                {"functions", functions},
                {"calls_end", report.call_units == 0 ? Json() : Json(sentence(report.call_search.end))},
                {"calls", calls},
                {"replays", report.replays()},
                {"function_units", report.function_units},
                {"call_units", report.call_units}}
        .dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace diopi
