#include "report/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "profile_data/profile_figures.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

constexpr int kColumnWidth = 12;
constexpr int kNameWidth = 55;
constexpr int kShapesWidth = 80;
/// A text column counts as this wide when columns are chosen; it can become narrower when the table is fitted.
constexpr int kLeastName = 24;
constexpr int kLeastShapes = 20;

struct TableColumn {
    std::string title;
    /// Columns of a lower rank are kept longer; 0: always.
    int rank = 0;
    std::function<std::string(const ProfileRow&)> cell;
    int text_width = 0;  ///< largest width of a text column
};

struct Totals {
    double self_cpu = 0, self_device = 0;
};

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.2f}%", 100 * part / whole) : "-"; }

std::string memory_text(int64_t bytes) {
    const double size = std::abs(static_cast<double>(bytes));
    if (size < 1024) return fmt::format("{} B", bytes);
    const auto in = [&](double unit, const char* name) {
        return fmt::format("{:.2f} {}", static_cast<double>(bytes) / unit, name);
    };
    if (size < 1024.0 * 1024) return in(1024, "KiB");
    if (size < 1024.0 * 1024 * 1024) return in(1024.0 * 1024, "MiB");
    return in(1024.0 * 1024 * 1024, "GiB");
}

std::string rate_text(double amount, double seconds) {
    if (amount <= 0 || seconds <= 0) return "-";
    const double giga = amount / seconds * 1e-9;
    return fmt::format("{:.{}f}", giga, giga < 10 ? 2 : 1);
}

std::string flags_of(const ProfileRow& row) {
    if (row.invalid) return "INVALID";
    return row.launch_bound ? "launch" : "";
}

void add_device_columns(std::vector<TableColumn>& columns, const std::string& kind, double self_total) {
    columns.push_back(
        {"Self " + kind + " %", 7, [=](const ProfileRow& r) { return percent(r.self_device, self_total); }});
    columns.push_back({"Self " + kind, 12, [](const ProfileRow& r) { return time_text(r.self_device); }});
    columns.push_back({kind + " total", 4, [](const ProfileRow& r) { return time_text(r.total_device); }});
    columns.push_back({kind + " time avg", 14,
                       [](const ProfileRow& r) { return time_text(r.total_device / static_cast<double>(r.calls)); }});
}

void add_memory_columns(std::vector<TableColumn>& columns) {
    columns.push_back({"CPU Mem", 2, [](const ProfileRow& r) { return memory_text(r.total_memory); }});
    columns.push_back({"Self CPU Mem", 5, [](const ProfileRow& r) { return memory_text(r.self_memory); }});
    columns.push_back({"Allocated", 7, [](const ProfileRow& r) { return memory_text(r.allocated); }});
    columns.push_back({"Freed", 7, [](const ProfileRow& r) { return memory_text(r.freed); }});
}

void add_comparison_columns(std::vector<TableColumn>& columns, const std::string& base) {
    columns.push_back(
        {base, 3, [](const ProfileRow& r) { return r.comparison == nullptr ? "-" : time_text(r.base_time); }});
    columns.push_back({"Ratio", 1, [](const ProfileRow& r) {
                           return r.comparison == nullptr ? "-" : fmt::format("{:.3f}", r.ratio());
                       }});
    columns.push_back({"95% of ratio", 5, [](const ProfileRow& r) {
                           if (r.comparison == nullptr || r.sums_ratio()) return std::string("-");
                           const Interval& ratio = r.comparison->ratio;
                           return std::isinf(ratio.high) ? "unknown"
                                                         : fmt::format("{:.3f}..{:.3f}", ratio.low, ratio.high);
                       }});
    columns.push_back({"Verdict", 1, [](const ProfileRow& r) {
                           return r.comparison == nullptr ? std::string("new")
                                                          : std::string(name(r.comparison->verdict));
                       }});
}

std::vector<TableColumn> columns_for(const Profile& profile, const std::vector<ProfileRow>& rows,
                                     const ProfileTableOptions& options) {
    Totals totals;
    for (const ProfileRow& row : rows) {
        totals.self_cpu += row.self_cpu;
        totals.self_device += row.self_device;
    }
    const auto any = [&](auto&& has) { return std::ranges::any_of(rows, has); };
    std::vector<TableColumn> columns = {
        {"Name", 0, [](const ProfileRow& r) { return std::string(2 * static_cast<size_t>(r.depth), ' ') + r.name; },
         kNameWidth},
        {"Self CPU %", 6, [=](const ProfileRow& r) { return percent(r.self_cpu, totals.self_cpu); }},
        {"Self CPU", 11, [](const ProfileRow& r) { return time_text(r.self_cpu); }},
        {"CPU total %", 15, [=](const ProfileRow& r) { return percent(r.total_cpu, totals.self_cpu); }},
        {"CPU total", 3, [](const ProfileRow& r) { return time_text(r.total_cpu); }},
        {"CPU time avg", 13, [](const ProfileRow& r) { return time_text(r.total_cpu / static_cast<double>(r.calls)); }},
    };
    if (profile.has_device_time) {
        add_device_columns(columns, profile.device_kind.empty() ? "Device" : profile.device_kind, totals.self_device);
    }
    if (options.memory) add_memory_columns(columns);
    columns.push_back({"# of Calls", 9, [](const ProfileRow& r) { return std::to_string(r.calls); }});
    columns.push_back({"Median", 8, [](const ProfileRow& r) { return time_text(r.median); }});
    columns.push_back({"95%", 8, [](const ProfileRow& r) { return fmt::format("±{:.1f}%", 100 * r.uncertainty); }});
    if (options.stops) columns.push_back({"Stop", 8, [](const ProfileRow& r) { return r.stop; }});
    if (any([](const ProfileRow& r) { return r.flops > 0; })) {
        columns.push_back({"GFLOP/s", 10, [](const ProfileRow& r) { return rate_text(r.flops, r.time); }});
    }
    columns.push_back({"GB/s", 10, [](const ProfileRow& r) { return rate_text(r.bytes, r.time); }});
    if (any([](const ProfileRow& r) { return r.roof > 0; })) {
        columns.push_back({"% of roof", 4, [](const ProfileRow& r) {
                               return r.roof > 0 ? fmt::format("{:.1f}%", 100 * r.share_of_roof()) : "-";
                           }});
    }
    if (any([](const ProfileRow& r) { return !flags_of(r).empty(); })) columns.push_back({"Flags", 4, flags_of});
    if (any([](const ProfileRow& r) { return r.comparison != nullptr; })) {
        add_comparison_columns(columns, options.base);
    }
    if (options.shapes) {
        columns.push_back({"Dtype", 12, [](const ProfileRow& r) { return r.dtype; }, kColumnWidth});
        columns.push_back({"Input Shapes", 5, [](const ProfileRow& r) { return r.shapes; }, kShapesWidth});
    }
    if (options.cases) columns.push_back({"Case", 16, [](const ProfileRow& r) { return r.case_id; }, kShapesWidth});
    return columns;
}

int least_width(const TableColumn& column, const std::vector<ProfileRow>& rows, bool is_wide) {
    int widest = display_width(column.title);
    for (const ProfileRow& row : rows) widest = std::max(widest, display_width(column.cell(row)));
    if (column.text_width == 0) return is_wide ? std::max(widest, kColumnWidth) : widest;
    return std::min(widest, column.title == "Name" ? kLeastName : kLeastShapes);
}

int total_width(const std::vector<TableColumn>& columns, const std::vector<ProfileRow>& rows, bool is_wide) {
    int total = -kColumnGap;
    for (const TableColumn& column : columns) total += least_width(column, rows, is_wide) + kColumnGap;
    return total;
}

/// Removes the least important columns until the table fits, then restores those that fit. Returns the titles of the
/// removed ones.
std::string choose(std::vector<TableColumn>& columns, const std::vector<ProfileRow>& rows, int width) {
    std::vector<TableColumn> chosen;
    std::vector<size_t> by_rank(columns.size());
    std::iota(by_rank.begin(), by_rank.end(), size_t{0});
    std::ranges::stable_sort(by_rank, {}, [&](size_t c) { return columns[c].rank; });
    std::vector<bool> stays(columns.size(), false);
    int total = -kColumnGap;
    for (const size_t c : by_rank) {
        const int own = least_width(columns[c], rows, false) + kColumnGap;
        stays[c] = columns[c].rank == 0 || total + own <= width;
        if (stays[c]) total += own;
    }
    std::string left_out;
    for (size_t c = 0; c < columns.size(); ++c) {
        if (stays[c]) {
            chosen.push_back(columns[c]);
        } else {
            left_out += (left_out.empty() ? "" : ", ") + columns[c].title;
        }
    }
    columns = std::move(chosen);
    return left_out;
}

Style style_of(const ProfileRow& row) {
    if (row.comparison == nullptr) return row.invalid ? Style::kYellow : Style::kPlain;
    if (row.comparison->verdict == SpeedVerdict::kSlower) return Style::kRed;
    return row.comparison->verdict == SpeedVerdict::kFaster ? Style::kGreen : Style::kPlain;
}

}  // namespace

std::string time_text(double seconds) {
    if (seconds < 1e-3) return fmt::format("{:.3f}us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3f}ms", seconds * 1e3);
    return fmt::format("{:.3f}s", seconds);
}

std::string profile_table(const Profile& profile, const std::vector<ProfileRow>& rows,
                          const ProfileTableOptions& options, int width, bool colour) {
    std::vector<TableColumn> columns = columns_for(profile, rows, options);
    const std::string left_out = choose(columns, rows, width);
    const bool is_wide = total_width(columns, rows, true) <= width;
    std::vector<Column> titles;
    for (const TableColumn& column : columns) {
        const bool is_text = column.text_width > 0;
        const std::string title =
            is_text || !is_wide ? column.title : fmt::format("{:>{}}", column.title, kColumnWidth);
        titles.push_back({title, is_text ? Align::kLeft : Align::kRight, column.text_width, false});
    }
    Table table(std::move(titles));
    const size_t shown =
        options.row_limit > 0 ? std::min(rows.size(), static_cast<size_t>(options.row_limit)) : rows.size();
    for (const ProfileRow& row : rows) {
        if (row.rank >= shown) continue;
        std::vector<std::string> cells;
        for (const TableColumn& column : columns) cells.push_back(column.cell(row));
        table.add_row(std::move(cells), style_of(row));
    }
    const std::string body = table.render(width, colour);
    // The line below the titles is also the first and the last of the table.
    const size_t rule_begin = body.find('\n') + 1;
    const std::string rule = body.substr(rule_begin, body.find('\n', rule_begin) + 1 - rule_begin);
    std::string text = rule + body + rule;
    if (shown < rows.size()) text += fmt::format("{} more rows (--row-limit)\n", rows.size() - shown);
    if (!left_out.empty()) text += wrapped("Left out because of the width: " + left_out, width);
    return text;
}

std::string profile_footer(const Profile& profile, const std::vector<ProfileRow>& rows) {
    double self_cpu = 0, self_device = 0;
    for (const ProfileRow& row : rows) {
        self_cpu += row.self_cpu;
        self_device += row.self_device;
    }
    std::string text = fmt::format("Self CPU time total: {}\n", time_text(self_cpu));
    if (profile.has_device_time) {
        text += fmt::format("Self {} time total: {}\n", profile.device_kind.empty() ? "Device" : profile.device_kind,
                            time_text(self_device));
    }
    const Roofs& roofs = profile.roofs;
    if (!roofs.copies.empty()) {
        const auto fastest = std::ranges::max_element(roofs.copies, {}, &Roofs::Copy::rate);
        text += fmt::format("Roofs: copy {:.1f} GB/s in memory, {:.1f} in cache", roofs.copies.back().rate * 1e-9,
                            fastest->rate * 1e-9);
        text += fmt::format("; empty call {}\n", time_text(roofs.empty_call));
    }
    for (const Roofs::Matmul& roof : roofs.matmul) {
        text += fmt::format("Roof: matmul {:.1f} GFLOP/s {}\n", roof.flops * 1e-9, name(roof.dtype));
    }
    if (std::ranges::any_of(rows, &ProfileRow::invalid)) {
        text += fmt::format("INVALID: above {:.0f}% of the roof; the roof or the time is wrong\n", 100 * kMostOfRoof);
    }
    return text;
}

}  // namespace diopi
