#include "report/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "json/json_text.hpp"
#include "report/csv.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

/// Rows of differing tensors that the text shows.
constexpr size_t kMostShown = 12;

std::string figure(double x) { return fmt::format("{:.3g}", x); }

/// The number in this format; `nothing` for a tensor that is zero up to rounding.
std::string figure_or(std::string_view nothing, std::string_view format, const std::optional<double>& x) {
    return x ? fmt::format(fmt::runtime(format), *x) : std::string(nothing);
}

std::string operators_text(const std::vector<std::pair<std::string, OperatorDifferences>>& summaries, bool with_ulp,
                           const CompareSides& sides, const Screen& screen) {
    std::vector<Column> columns = {{"Operator", Align::kLeft, 55, false, true},
                                   {"Calls", Align::kRight, 0, true},
                                   {"Tensors", Align::kRight},
                                   {"Differ", Align::kRight},
                                   {"Cosine", Align::kRight, 0, true},
                                   {"Max abs diff", Align::kRight},
                                   {"Max rel diff", Align::kRight, 0, true}};
    if (with_ulp) columns.push_back({"Closer to exact", Align::kLeft, 0, false, true});
    Table table(columns);
    for (const auto& [overload, summary] : summaries) {
        table.add_row({overload, fmt::format("{}", summary.calls.size()), fmt::format("{}", summary.tensors),
                       fmt::format("{}", summary.different), figure_or(".", "{:.6f}", summary.cosine),
                       figure(summary.max_abs), figure_or(".", "{:.3g}", summary.max_rel), summary.closer(sides)},
                      summary.different > 0 ? Style::kRed : Style::kPlain);
    }
    return table.empty() ? "" : table.render(screen);
}

/// A share in percent, in four characters if possible.
std::string percent_text(int64_t count, int64_t total) {
    if (count == 0) return "-";
    const double share = 100.0 * static_cast<double>(count) / static_cast<double>(total);
    if (share < 0.01) return "<.01";
    return share < 9.995 ? fmt::format("{:.2f}", share) : fmt::format("{:.{}f}", share, share < 99.95 ? 1 : 0);
}

/// Bins of both sides, one above the other.
std::string histogram_text(const UlpHistogram& one, const UlpHistogram& other, const CompareSides& sides,
                           const Screen& screen) {
    std::vector<Column> columns = {{"Side", Align::kLeft, 0, false, true}};
    for (const std::string_view bin : UlpHistogram::kTitles) columns.push_back({std::string(bin), Align::kRight});
    Table table(columns);
    for (const auto& [name, histogram] : {std::pair(sides.backend, &one), std::pair(sides.against, &other)}) {
        std::vector<std::string> cells = {name};
        for (const int64_t count : histogram->counts) cells.push_back(percent_text(count, histogram->total()));
        table.add_row(cells);
    }
    return "Errors of all outputs in ulp, percent of the elements\n" + table.render(screen);
}

/// "... and 3 more" for rows that a table does not show.
std::string more_text(size_t all) {
    return all > kMostShown ? fmt::format("... and {} more (--csv FILE, --json)\n", all - kMostShown) : "";
}

std::string different_text(const std::vector<CompareRow>& rows, const Screen& screen) {
    const bool has_layers = std::ranges::any_of(rows, [](const CompareRow& row) { return !row.layer.empty(); });
    std::vector<Column> columns = {{"First differences", Align::kLeft, 0, false, true},
                                   {"Name", Align::kLeft, 45, false, true}};
    if (has_layers) columns.push_back({"Layer", Align::kLeft, 30, true});
    columns.insert(columns.end(), {{"Tensor", Align::kLeft, 30, true},
                                   {"Max abs diff", Align::kRight},
                                   {"atol", Align::kRight, 0, true},
                                   {"rtol", Align::kRight, 0, true},
                                   {"What", Align::kLeft, 100}});
    Table table(columns);
    size_t different = 0;
    for (const CompareRow& row : rows) {
        if (!row.compared() || !row.differs() || ++different > kMostShown) continue;
        std::vector<std::string> cells = {row.where, row.name};
        if (has_layers) cells.push_back(layers_of(row));
        cells.insert(cells.end(), {row.tensor, figure(row.max_abs), figure(row.atol), figure(row.rtol), note_of(row)});
        table.add_row(cells);
    }
    return table.empty() ? "" : "\n" + table.render(screen) + more_text(different);
}

/// Consecutive calls that are in only one capture, or out of order.
struct Break {
    const CompareRow* first;
    std::string where;  ///< "call 3 of A", "call 3 of A to call 5 of A"
    int64_t calls = 0;
    std::vector<std::string> names;
};

/// The places where the alignment of two captures breaks.
std::vector<Break> breaks_in(const std::vector<CompareRow>& rows) {
    std::vector<Break> breaks;
    const CompareRow* last = nullptr;
    for (const CompareRow& row : rows) {
        if (row.only_in.empty() && !row.out_of_order) continue;
        const bool is_tensor_of_last = last != nullptr && row.out_of_order && row.where == last->where;
        if (is_tensor_of_last) continue;
        const bool goes_on = last != nullptr && row.only_in == last->only_in && row.after == last->after &&
                             row.before == last->before && !row.out_of_order;
        if (!goes_on) breaks.push_back({&row, row.where, 0, {}});
        Break& current = breaks.back();
        if (goes_on) current.where = fmt::format("{} to {}", current.first->where, row.where);
        ++current.calls;
        current.names.push_back(row.layer.empty() ? row.overload : fmt::format("{} ({})", row.overload, row.layer));
        last = &row;
    }
    return breaks;
}

/// Each break with its neighbours on both sides.
std::string breaks_text(const std::vector<CompareRow>& rows, const Screen& screen) {
    constexpr size_t kMostNames = 3;
    Table table({{"Alignment breaks"},
                 {"Calls", Align::kRight},
                 {"What", Align::kLeft, 60},
                 {"After", Align::kLeft, 50},
                 {"Before", Align::kLeft, 50}});
    const std::vector<Break> breaks = breaks_in(rows);
    for (size_t b = 0; b < std::min(breaks.size(), kMostShown); ++b) {
        const Break& at = breaks[b];
        const size_t shown = std::min(at.names.size(), kMostNames);
        std::string what = fmt::format("{}", fmt::join(at.names.begin(), at.names.begin() + shown, ", "));
        if (shown < at.names.size()) what += ", ...";
        what += at.first->only_in.empty() ? ": out of order" : ": only in " + at.first->only_in;
        const auto end = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
        table.add_row({at.where, fmt::format("{}", at.calls), what, end(at.first->after), end(at.first->before)});
    }
    return breaks.empty() ? "" : "\n" + table.render(screen) + more_text(breaks.size());
}

/// The number of calls whose layer has another name in the second capture.
std::string renamed_text(const std::vector<CompareRow>& rows) {
    std::set<std::string> calls;
    const CompareRow* first = nullptr;
    for (const CompareRow& row : rows) {
        if (row.other_layer.empty()) continue;
        if (first == nullptr) first = &row;
        calls.insert(row.where);
    }
    if (first == nullptr) return "";
    return fmt::format("layers of other names: {}, the first {}: {} and {}\n",
                       counted(static_cast<int64_t>(calls.size()), "call"), first->where,
                       first->layer.empty() ? "none" : first->layer, first->other_layer);
}

/// A line per reason: its first call, then the count for each operator.
std::string skipped_text(const std::vector<CompareRow>& rows) {
    std::string text;
    for (const SkippedCalls& skipped : skipped_in(rows)) {
        text += fmt::format("not compared, {}: {}, the first {}: {}\n", skipped.reason, counted(skipped.calls, "call"),
                            skipped.first, skipped.names());
    }
    return text;
}

/// A line per pair of dtypes that was cast to one.
std::string casts_text(const std::vector<CompareRow>& rows) {
    std::map<std::string, int64_t> tensors;
    for (const CompareRow& row : rows) {
        if (!row.cast.empty()) ++tensors[row.cast];
    }
    std::string text;
    for (const auto& [cast, count] : tensors) {
        text += fmt::format("compared {}, with the tolerance of the narrower: {}\n", cast, counted(count, "tensor"));
    }
    return text;
}

}  // namespace

std::string compare_seed_lines(const CompareRow& row) {
    if (!row.skipped.empty()) return fmt::format("skip OpAutoCompareHook on {}: {}\n", row.overload, row.skipped);
    if (!row.only_in.empty()) return fmt::format("skip OpAutoCompareHook on {}: {}\n", row.overload, row.error);
    std::string text = fmt::format("OpAutoCompareHook: {:<50} allclose: {}    max_diff: {:>20.9f}\n", row.name,
                                   row.allclose ? "True" : "False", row.max_abs);
    const std::string note = note_of(row);
    text += fmt::format("autocompare:    {} {}:\n\t{}\n\t{}{}{}\n", row.overload, row.place, row.seed,
                        row.allclose ? "allclose" : "not_close", note.empty() ? "" : ", ", note);
    for (const std::string& input : row.inputs)
        text += fmt::format("OpAutoCompareHook: {} input: {}\n", row.name, input);
    for (const std::string& output : row.outputs) {
        text += fmt::format("OpAutoCompareHook: {} output: {}\n", row.name, output);
    }
    return text;
}

std::string compare_csv(const std::vector<CompareRow>& rows) {
    std::string text = csv_row({"forward_id", "name", "allclose", "cosine_similarity", "max_abs_diff",
                                "max_relative_diff", "atol", "rtol", "error_info"});
    for (const CompareRow& row : rows) {
        const std::string id = row.forward_id ? fmt::format("{}", *row.forward_id) : "";
        if (!row.only_in.empty()) {
            text += csv_row({id, row.name, "False", "", "", "", "", "", row.error});
            continue;
        }
        if (!row.skipped.empty()) {
            text += csv_row({id, row.name, "", "", "", "", "", "", "not compared: " + row.skipped});
            continue;
        }
        text += csv_row({id, row.name, row.allclose ? "True" : "False", figure_or("", "{:.9g}", row.cosine),
                         fmt::format("{:.9g}", row.max_abs), figure_or("", "{:.9g}", row.max_rel),
                         fmt::format("{}", row.atol), fmt::format("{}", row.rtol), note_of(row)});
    }
    return text;
}

std::string compare_text(const std::vector<CompareRow>& rows, const CompareSides& sides, bool only_differences,
                         const Screen& screen) {
    const auto summaries = by_operator(rows);
    UlpHistogram one, other;
    for (const auto& [overload, summary] : summaries) {
        one.add(summary.ulp);
        other.add(summary.other_ulp);
    }
    std::string text;
    if (!only_differences) text += operators_text(summaries, one.total() > 0, sides, screen);
    if (one.total() > 0 && !only_differences) text += "\n" + histogram_text(one, other, sides, screen);
    text += different_text(rows, screen) + breaks_text(rows, screen);
    text += compare_summary(rows, sides) + "\n";
    return text + renamed_text(rows) + casts_text(rows) + skipped_text(rows);
}

std::string compare_json(const std::vector<CompareRow>& rows, const CompareSides& sides) {
    Json list = Json::array();
    int64_t different = 0, skipped = 0, alone = 0;
    for (const CompareRow& row : rows) {
        list.push_back(parse_own(to_json_line(row)));
        skipped += row.skipped.empty() ? 0 : 1;
        alone += row.only_in.empty() ? 0 : 1;
        different += row.compared() && row.differs() ? 1 : 0;
    }
    return indented(Json{{"backend", sides.backend},
                         {"against", sides.against},
                         {"ulp_bins", UlpHistogram::kTitles},
                         {"different", different},
                         {"alone", alone},
                         {"not_compared", skipped},
                         {"tensors", list}});
}

}  // namespace diopi
