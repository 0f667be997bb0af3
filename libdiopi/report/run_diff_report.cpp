#include "report/run_diff_report.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "json/json_text.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

/// Rows of a table on the terminal; --json has all.
constexpr size_t kMostRows = 40;

std::string run_text(char letter, const RunHeader& run) {
    const std::string options = run.repeat.empty() ? "" : " (" + run.repeat + ")";
    return fmt::format("{}  {}, {} of {}{}\n", letter, run.started, counted(run.cases, "case"), run.backend, options);
}

std::string rest_text(size_t rows) {
    return rows > kMostRows ? fmt::format("and {} more rows (--json has all)\n", rows - kMostRows) : "";
}

/// Cases of one operator with the same two verdicts.
struct ChangedCases {
    int64_t cases = 0;
    const VerdictChange* first = nullptr;
};

/// A row per operator and pair of verdicts.
std::string verdicts_text(const char* title, const std::vector<VerdictChange>& changes, Style style, bool is_new,
                          const Screen& screen) {
    if (changes.empty()) return "";
    std::map<std::tuple<std::string, Verdict, Verdict>, ChangedCases> groups;
    for (const VerdictChange& change : changes) {
        ChangedCases& group = groups[{change.op, change.before, change.after}];
        if (group.cases++ == 0) group.first = &change;
    }
    Table table({{"operator", Align::kLeft, 0, false, true},
                 {"cases", Align::kRight},
                 {"was"},
                 {"is"},
                 {"first case", Align::kLeft, 0, false, true},
                 {"reason"}});
    size_t row = 0;
    for (const auto& [key, group] : groups) {
        if (row++ == kMostRows) break;
        const auto& [op, before, after] = key;
        table.add_row({op, std::to_string(group.cases), is_new ? "" : name(before), name(after), group.first->case_id,
                       group.first->reason},
                      style);
    }
    const std::string repeat = style == Style::kRed ? "first: " + groups.begin()->second.first->repeat + "\n" : "";
    return fmt::format("\n{}\n{}{}{}", title, table.render(screen), rest_text(groups.size()), repeat);
}

std::string share(double budget) { return fmt::format("{:.1f}%", 100 * budget); }

std::string accuracy_text(const char* title, const std::vector<AccuracyChange>& changes, const Screen& screen) {
    if (changes.empty()) return "";
    Table table({{"function", Align::kLeft, 0, false, true},
                 {"output"},
                 {"calls", Align::kRight},
                 {"A", Align::kRight},
                 {"B", Align::kRight},
                 {"case", Align::kLeft, 0, false, true}});
    for (size_t i = 0; i < std::min(changes.size(), kMostRows); ++i) {
        const AccuracyChange& change = changes[i];
        table.add_row({change.function, change.output, std::to_string(change.calls), share(change.before),
                       share(change.after), change.case_id});
    }
    return fmt::format("\n{} (largest share of the allowed error)\n{}{}", title, table.render(screen),
                       rest_text(changes.size()));
}

bool has_changed(const TimeChange& change) {
    return change.speed.verdict == SpeedVerdict::kFaster || change.speed.verdict == SpeedVerdict::kSlower;
}

std::string times_text(const std::vector<TimeChange>& times, const Screen& screen) {
    Table table({{"function", Align::kLeft, 0, false, true},
                 {"calls", Align::kRight},
                 {"A", Align::kRight},
                 {"B", Align::kRight},
                 {"ratio", Align::kRight},
                 {"95% interval"},
                 {"verdict"}});
    size_t rows = 0;
    for (const TimeChange& change : times) {
        if (!has_changed(change) || rows++ >= kMostRows) continue;
        const auto& [value, low, high] = change.speed.ratio;
        const bool slower = change.speed.verdict == SpeedVerdict::kSlower;
        table.add_row({change.function, std::to_string(change.calls), fmt::format("{:.3f}ms", change.before * 1e3),
                       fmt::format("{:.3f}ms", change.after * 1e3), fmt::format("{:.3f}", value),
                       fmt::format("{:.3f}..{:.3f}", low, high), std::string(name(change.speed.verdict))},
                      slower ? Style::kRed : Style::kGreen);
    }
    if (table.empty()) return "";
    return "\nTime (single calls of the tests: diopi profile measures)\n" + table.render(screen) + rest_text(rows);
}

Json change_json(const VerdictChange& change) {
    return {{"case", change.case_id},        {"operator", change.op},       {"dtype", change.dtype},
            {"before", name(change.before)}, {"after", name(change.after)}, {"reason", change.reason},
            {"repeat", change.repeat}};
}

Json changes_json(const std::vector<VerdictChange>& changes) {
    Json list = Json::array();
    for (const VerdictChange& change : changes) list.push_back(change_json(change));
    return list;
}

Json accuracy_json(const std::vector<AccuracyChange>& changes) {
    Json list = Json::array();
    for (const AccuracyChange& change : changes) {
        list.push_back({{"function", change.function},
                        {"output", change.output},
                        {"calls", change.calls},
                        {"before", json_number(change.before)},
                        {"after", json_number(change.after)},
                        {"case", change.case_id}});
    }
    return list;
}

Json times_json(const std::vector<TimeChange>& times) {
    Json list = Json::array();
    for (const TimeChange& change : times) {
        const Interval& ratio = change.speed.ratio;
        list.push_back({{"function", change.function},
                        {"calls", change.calls},
                        {"before_s", change.before},
                        {"after_s", change.after},
                        {"ratio", json_number(ratio.value)},
                        {"interval", {json_number(ratio.low), json_number(ratio.high)}},
                        {"verdict", std::string(name(change.speed.verdict))}});
    }
    return list;
}

Json run_json(const RunHeader& run) {
    return {{"backend", run.backend}, {"seed", run.seed},      {"started", run.started},
            {"cases", run.cases},     {"options", run.repeat}, {"command", run.command}};
}

}  // namespace

std::string run_diff_summary(const RunDiff& diff) {
    const auto part = [](const std::vector<VerdictChange>& changes, const char* what) {
        return changes.empty() ? "" : fmt::format("{} {}, ", changes.size(), what);
    };
    const auto changed = static_cast<int64_t>(diff.broken.size() + diff.mended.size() + diff.lost.size() +
                                              diff.gained.size() + diff.other.size());
    std::string text =
        fmt::format("{} in both runs: {}{}{}{}{}{} with the same verdict", counted(diff.common, "case"),
                    part(diff.broken, "broke"), part(diff.lost, "lost their support"), part(diff.mended, "mended"),
                    part(diff.gained, "gained support"), part(diff.other, "changed otherwise"), diff.common - changed);
    if (!diff.only_before.empty()) text += fmt::format("; {} only in A", diff.only_before.size());
    if (!diff.only_after.empty()) text += fmt::format("; {} only in B", diff.only_after.size());
    if (!diff.newly_failing.empty()) text += fmt::format(", {} of them failing", diff.newly_failing.size());
    return text;
}

std::string run_diff_text(const RunDiff& diff, bool is_quiet, const Screen& screen) {
    if (is_quiet) return run_diff_summary(diff) + "\n";
    std::string text = run_text('A', diff.before) + run_text('B', diff.after);
    text += verdicts_text("Broke", diff.broken, Style::kRed, false, screen);
    text += verdicts_text("Failing cases that only B has", diff.newly_failing, Style::kRed, true, screen);
    text += verdicts_text("Lost support", diff.lost, Style::kRed, false, screen);
    text += verdicts_text("Mended", diff.mended, Style::kGreen, false, screen);
    text += verdicts_text("Gained support", diff.gained, Style::kGreen, false, screen);
    text += verdicts_text("Changed otherwise", diff.other, Style::kYellow, false, screen);
    text += accuracy_text("Less accurate", diff.less_accurate, screen);
    text += accuracy_text("More accurate", diff.more_accurate, screen);
    if (!diff.accuracy_left_out.empty()) {
        text += fmt::format("\nAccuracy is not compared: {}\n", diff.accuracy_left_out);
    }
    return text + times_text(diff.times, screen) + "\n" + run_diff_summary(diff) + "\n";
}

Json run_diff_data(const RunDiff& diff) {
    return {{"before", run_json(diff.before)},
            {"after", run_json(diff.after)},
            {"common", diff.common},
            {"only_before", diff.only_before},
            {"only_after", diff.only_after},
            {"broken", changes_json(diff.broken)},
            {"newly_failing", changes_json(diff.newly_failing)},
            {"lost", changes_json(diff.lost)},
            {"mended", changes_json(diff.mended)},
            {"gained", changes_json(diff.gained)},
            {"other", changes_json(diff.other)},
            {"accuracy_left_out", diff.accuracy_left_out},
            {"less_accurate", accuracy_json(diff.less_accurate)},
            {"more_accurate", accuracy_json(diff.more_accurate)},
            {"times", times_json(diff.times)}};
}

std::string run_diff_json(const RunDiff& diff) { return indented(run_diff_data(diff)) + "\n"; }

}  // namespace diopi
