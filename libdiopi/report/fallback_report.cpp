#include "report/fallback_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

std::string step_time_text(double seconds) { return fmt::format("{:.3f}ms", seconds * 1e3); }

std::string copied_bytes_text(int64_t nbytes) {
    if (nbytes < 10000) return fmt::format("{} B", nbytes);
    if (nbytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(nbytes) * 1e-3);
    return fmt::format("{:.1f} MB", static_cast<double>(nbytes) * 1e-6);
}

std::string changes_text(const FallbackRecord& record, const Screen& screen) {
    if (record.changed.empty()) {
        return record.results == 1 ? "The one result does not change.\n"
                                   : fmt::format("None of the {} results changes.\n", record.results);
    }
    const auto beyond = std::ranges::count(record.changed, false, &ChangedResult::within);
    std::string text = fmt::format("{} of {} results change, {} of them beyond the tolerance (--tolerance).\n",
                                   record.changed.size(), record.results, beyond);
    Table table({{"Result", Align::kLeft, 55}, {"Max diff", Align::kRight}, {"Max relative", Align::kRight}});
    constexpr size_t kMost = 10;
    for (size_t i = 0; i < std::min(kMost, record.changed.size()); ++i) {
        const ChangedResult& change = record.changed[i];
        table.add_row({change.tensor, fmt::format("{:.3g}", change.max_abs), fmt::format("{:.3g}", change.max_rel)},
                      change.within ? Style::kPlain : Style::kRed);
    }
    text += table.render(screen);
    if (record.changed.size() > kMost) text += fmt::format("... and {} more (--json)\n", record.changed.size() - kMost);
    return text;
}

/// The time of a step; without forced fallbacks there is only one kind of step.
std::string step_text(const FallbackRecord& record) {
    const std::string &backend = record.backend, &other = record.other;
    const double step = record.step_seconds, with = record.step_seconds_with;
    const bool forced = std::ranges::count(record.rows, FallbackReason::kForced, &FallbackRow::reason) > 0;
    std::string text = forced
                           ? fmt::format("A step on {} takes {}, with the listed operators on {} {} ({:.2f} times).\n",
                                         backend, step_time_text(step), other, step_time_text(with), with / step)
                           : fmt::format("A step on {} takes {}.\n", backend, step_time_text(step));
    if (record.waited_seconds <= 0) return text;
    const double waited = record.waited_seconds, waited_with = record.waited_seconds_with;
    if (!forced) {
        return text + fmt::format("The elapsed time is {}: {:.1f}% of it were predicted.\n", step_time_text(waited),
                                  100 * step / waited);
    }
    return text + fmt::format("The elapsed time is {} and {}: {:.1f}% and {:.1f}% of it were predicted.\n",
                              step_time_text(waited), step_time_text(waited_with), 100 * step / waited,
                              100 * with / waited_with);
}

std::string calls_text(const BisectRecord& record) {
    const SearchEnd end = record.calls_end.value_or(SearchEnd::kFound);
    std::string text;
    if (end == SearchEnd::kInterrupted) text += "Interrupted while the calls were searched.\n";
    if (end == SearchEnd::kTooMany && record.calls.empty()) return text;
    if (end == SearchEnd::kTooMany) text += "More calls are wrong than the search found (--call-replays); the first:\n";
    if (end == SearchEnd::kNotMonotone) text += "Of its calls, perhaps not the fewest:\n";
    for (const BisectRecord::CapturedCall& call : record.calls) {
        text +=
            fmt::format("  call {}: {}{}{}\n", call.number, call.overload,
                        call.layer.empty() ? "" : " in " + call.layer, call.source.empty() ? "" : ", " + call.source);
    }
    return text;
}

}  // namespace

std::string fallback_text(const FallbackRecord& record, const Screen& screen) {
    Table table({{"Operator", Align::kLeft, 40},
                 {"Function", Align::kLeft, 40, true},
                 {"Why"},
                 {"Calls", Align::kRight},
                 {"Copies in", Align::kRight},
                 {"out", Align::kRight},
                 {"Bytes", Align::kRight},
                 {"Copying", Align::kRight},
                 {fmt::format("On {}", record.backend), Align::kRight},
                 {fmt::format("On {}", record.other), Align::kRight}});
    for (const FallbackRow& row : record.rows) {
        table.add_row(
            {row.overload, row.function, std::string(name(row.reason)), fmt::format("{}", row.calls),
             fmt::format("{}", row.in.copies), fmt::format("{}", row.out.copies),
             copied_bytes_text(row.in.nbytes + row.out.nbytes), step_time_text(row.in.seconds + row.out.seconds),
             row.device_seconds > 0 ? step_time_text(row.device_seconds) : "-", step_time_text(row.other_seconds)});
    }
    std::string text = table.empty() ? "" : table.render(screen);
    int64_t calls = 0;
    for (const FallbackRow& row : record.rows) calls += row.calls;
    text += fmt::format("{} of {} calls fall back to {}.\n", calls, record.calls, record.other);
    text += step_text(record) + changes_text(record, screen);
    for (const auto& [overload, count] : record.missing) {
        text += fmt::format("not implemented anywhere: {} ({}); its outputs hold drawn values\n", overload,
                            counted(count, "call"));
    }
    return text;
}

std::string fallback_seed_lines(const FallbackRecord& record) {
    std::string text;
    for (const FallbackRow& row : record.rows) {
        if (row.reason != FallbackReason::kForced) continue;
        text += fmt::format("force fallback has been set, {} will be fallback to cpu\n", row.overload);
    }
    for (const std::string& line : record.lines) text += line + "\n";
    return text;
}

std::string bisect_text(const BisectRecord& record, const std::string& repeat) {
    switch (record.end) {
        case SearchEnd::kNothingWrong:
            return fmt::format("Nothing is wrong: the capture passes without any fallback ({} replays).\n",
                               record.replays);
        case SearchEnd::kElsewhere:
            return fmt::format("No operator is to blame: the replay fails even when every operator falls back: {}\n",
                               record.reason);
        case SearchEnd::kInterrupted:
            return fmt::format("Interrupted after {} replays.\n", record.replays);
        case SearchEnd::kNotMonotone:
        case SearchEnd::kTooMany:
        case SearchEnd::kFound:
            break;
    }
    std::string text = record.end == SearchEnd::kNotMonotone
                           ? "Some fallbacks make others fail; this set passes, but may not be the smallest.\n"
                           : "";
    text += fmt::format("Without fallback: {}{}\nTo blame:\n", record.reason, record.flaky ? " (not every time)" : "");
    for (const BisectRecord::Function& function : record.functions) {
        text += fmt::format("  {} ({}), {}\n", function.function, fmt::join(function.overloads, ", "),
                            counted(function.calls, "call"));
    }
    text += calls_text(record);
    text += fmt::format("{} replays over {} and {}.\n", record.replays,
                        counted(static_cast<int64_t>(record.function_units), "function"),
                        counted(static_cast<int64_t>(record.call_units), "call"));
    return text + fmt::format("Repeat with the fallback: {}\n", repeat);
}

std::string bisect_json(const BisectRecord& record) {
    Json calls = Json::array(), functions = Json::array();
    for (const BisectRecord::CapturedCall& call : record.calls) {
        calls.push_back({{"call", call.number},
                         {"overload", call.overload},
                         {"function", call.function},
                         {"layer", call.layer},
                         {"source", call.source}});
    }
    for (const BisectRecord::Function& function : record.functions) {
        functions.push_back(
            {{"function", function.function}, {"overloads", function.overloads}, {"calls", function.calls}});
    }
    return indented(Json{{"backend", record.backend},
                         {"to", record.other},
                         {"end", name(record.end)},
                         {"reason", record.reason},
                         {"flaky", record.flaky},
                         {"functions", functions},
                         {"calls_end", record.calls_end ? Json(name(*record.calls_end)) : Json()},
                         {"calls", calls},
                         {"replays", record.replays},
                         {"function_units", record.function_units},
                         {"call_units", record.call_units}});
}

}  // namespace diopi
