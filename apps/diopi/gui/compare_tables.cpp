/// The figures of a comparison, and its tabs with tables: errors in ulp, worst figures by operator.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "kept_head.hpp"
#include "report/table.hpp"
#include "sorted_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

using ComparedOperator = std::pair<std::string, OperatorDifferences>;

/// NaN is the largest figure, and one that lacks the smallest.
double sort_figure(const std::optional<double>& figure) {
    if (!figure) return -1;
    return std::isnan(*figure) ? HUGE_VAL : *figure;
}

TableColumn<ComparedOperator> compared_name_column() {
    return name_column<ComparedOperator>("operator", 3,
                                         [](const ComparedOperator& row) -> const std::string& { return row.first; });
}

TableColumn<ComparedOperator> compared_count_column(const char* title,
                                                    int64_t (*count_of)(const OperatorDifferences&)) {
    return figure_column<ComparedOperator>(
        title, 1, [=](const ComparedOperator& row) { return count_of(row.second); },
        [](int64_t count) { return std::to_string(count); });
}

TableColumn<ComparedOperator> error_column(const std::string& side, UlpHistogram OperatorDifferences::*histogram) {
    return drawn_column<ComparedOperator>(side, 5, [=](const ComparedOperator& row) {
        const UlpHistogram& errors = row.second.*histogram;
        std::vector<BarPart> parts;
        for (size_t i = 0; i < errors.counts.size(); ++i) {
            const auto count = static_cast<double>(errors.counts[i]);
            parts.push_back(
                {count, ulp_colour(i),
                 fmt::format("{} ulp: {}, {}", UlpHistogram::kTitles[i], counted(errors.counts[i], "element"),
                             share_text(count / static_cast<double>(errors.total())))});
        }
        divided_bar(parts, 0.7f * ImGui::GetTextLineHeight(), ImGui::GetContentRegionAvail().x);
    });
}

void draw_ulp_legend(const Palette& colours) {
    const float line = ImGui::GetTextLineHeight(), side = 0.8f * line;
    for (size_t i = 0; i < UlpHistogram::kTitles.size(); ++i) {
        if (i > 0) ImGui::SameLine(0, line);
        const ImVec2 start = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled({start.x, start.y + 0.1f * line}, {start.x + side, start.y + line},
                                                  ImGui::GetColorU32(ulp_colour(i)), 3);
        ImGui::Dummy({side, line});
        ImGui::SameLine(0, 5);
        coloured_text(UlpHistogram::kTitles[i], colours.text);
    }
}

}  // namespace

void draw_compare_head(GuiState& state) {
    const auto& [about, view] = *state.reports.comparison();
    const Palette& colours = *state.colours;
    draw_about(about, state);
    int64_t skipped = 0;
    for (const SkippedCalls& calls : view.skipped()) skipped += calls.calls;
    std::vector<Tile> tiles = {
        {std::to_string(view.tensors()), "tensors", colours.text},
        {std::to_string(view.different()), "differ", view.different() > 0 ? colours.failed : colours.soft}};
    if (view.alone() > 0) tiles.push_back({std::to_string(view.alone()), "calls in one capture only", colours.failed});
    if (skipped > 0) tiles.push_back({std::to_string(skipped), "calls not compared", colours.missing});
    draw_tiles(tiles, colours, state.fonts.title);
    for (const SkippedCalls& calls : view.skipped()) {
        cell_text(fmt::format("Not compared, {}: {}, the first {}: {}", calls.reason, counted(calls.calls, "call"),
                              calls.first, calls.names()));
    }
}

void draw_ulp(GuiState& state) {
    const KeptCompareView& view = state.reports.comparison()->view;
    const CompareSides& sides = view.comparison().sides;
    coloured_text("Distances of all outputs' elements from the exact values, in units in the last place:",
                  state.colours->soft);
    draw_ulp_legend(*state.colours);
    ImGui::Spacing();
    std::vector<ComparedOperator> rows;
    for (const ComparedOperator& row : view.operators()) {
        if (row.second.ulp.total() > 0) rows.push_back(row);
    }
    sorted_table<ComparedOperator>(
        "ulp",
        {compared_name_column(),
         name_column<ComparedOperator>("closer to exact", 2,
                                       [&](const ComparedOperator& row) { return row.second.closer(sides); }),
         error_column(sides.backend, &OperatorDifferences::ulp),
         error_column(sides.against, &OperatorDifferences::other_ulp)},
        std::move(rows), 0);
}

void draw_compared_operators(GuiState& state) {
    const KeptCompareView& view = state.reports.comparison()->view;
    using Row = ComparedOperator;
    const auto figure_of = [](double figure) { return figure < 0 ? "" : figure_text(figure); };
    sorted_table<Row>(
        "compared operators",
        {compared_name_column(),
         compared_count_column("calls",
                               [](const OperatorDifferences& d) { return static_cast<int64_t>(d.calls.size()); }),
         compared_count_column("tensors", [](const OperatorDifferences& d) { return d.tensors; }),
         {{"differ", 1, true},
          [&](const Row& row) {
              ImGui::PushStyleColor(ImGuiCol_Text,
                                    row.second.different > 0 ? state.colours->failed : state.colours->text);
              right_text(std::to_string(row.second.different));
              ImGui::PopStyleColor();
          },
          [](const Row& one, const Row& other) { return one.second.different < other.second.different; }},
         {{"smallest cosine", 1.6f, true},
          [](const Row& row) { right_text(row.second.cosine ? fmt::format("{:.6f}", *row.second.cosine) : ""); },
          // The smallest one is the worst.
          [](const Row& one, const Row& other) {
              return sort_figure(other.second.cosine) < sort_figure(one.second.cosine);
          }},
         figure_column<Row>(
             "largest difference", 1.8f, [](const Row& row) { return sort_figure(row.second.max_abs); }, figure_of),
         figure_column<Row>(
             "largest relative", 1.6f, [](const Row& row) { return sort_figure(row.second.max_rel); }, figure_of)},
        view.operators(), 3);
}

}  // namespace diopi
