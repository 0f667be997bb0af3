/// The figures of a comparison, and its tabs with tables: errors in ulp, worst figures by operator.
#include <fmt/format.h>

#include <optional>
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

using ComparedOperator = const std::pair<std::string, OperatorDifferences>*;

/// The worst cosine is the smallest one, or NaN.
std::optional<double> badness_of(const std::optional<double>& cosine) {
    return cosine ? std::optional(-*cosine) : std::nullopt;
}

TableColumn<ComparedOperator> compared_name_column() {
    return name_column<ComparedOperator>("operator", 3,
                                         [](ComparedOperator row) -> const std::string& { return row->first; });
}

TableColumn<ComparedOperator> compared_count_column(const char* title,
                                                    int64_t (*count_of)(const OperatorDifferences&)) {
    return figure_column<ComparedOperator>(
        title, 1, [=](ComparedOperator row) { return count_of(row->second); },
        [](int64_t count) { return std::to_string(count); });
}

TableColumn<ComparedOperator> error_column(const std::string& side, UlpHistogram OperatorDifferences::*histogram) {
    return drawn_column<ComparedOperator>(side, 5, [=](ComparedOperator row) {
        const UlpHistogram& errors = row->second.*histogram;
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
    for (size_t i = 0; i < UlpHistogram::kTitles.size(); ++i) {
        if (i > 0) ImGui::SameLine(0, ImGui::GetTextLineHeight());
        legend_box(ulp_colour(i), ulp_colour(i));
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
    note_text("Distances of all outputs' elements from the exact values, in units in the last place:", *state.colours);
    draw_ulp_legend(*state.colours);
    ImGui::Spacing();
    std::vector<ComparedOperator> rows;
    for (const auto& row : view.operators()) {
        if (row.second.ulp.total() > 0) rows.push_back(&row);
    }
    sorted_table<ComparedOperator>(
        "ulp",
        {compared_name_column(),
         name_column<ComparedOperator>("closer to exact", 2,
                                       [&](ComparedOperator row) { return row->second.closer(sides); }),
         error_column(sides.backend, &OperatorDifferences::ulp),
         error_column(sides.against, &OperatorDifferences::other_ulp)},
        std::move(rows), 0);
}

void draw_compared_operators(GuiState& state) {
    const KeptCompareView& view = state.reports.comparison()->view;
    using Row = ComparedOperator;
    std::vector<Row> rows;
    for (const auto& row : view.operators()) rows.push_back(&row);
    sorted_table<Row>(
        "compared operators",
        {compared_name_column(),
         compared_count_column("calls",
                               [](const OperatorDifferences& d) { return static_cast<int64_t>(d.calls.size()); }),
         compared_count_column("tensors", [](const OperatorDifferences& d) { return d.tensors; }),
         {{"differ", 1, true},
          [&](Row row) {
              ImGui::PushStyleColor(ImGuiCol_Text,
                                    row->second.different > 0 ? state.colours->failed : state.colours->text);
              right_text(std::to_string(row->second.different));
              ImGui::PopStyleColor();
          },
          [](Row one, Row other) { return one->second.different < other->second.different; }},
         {{"smallest cosine", 1.6f, true},
          [](Row row) { right_text(row->second.cosine ? fmt::format("{:.6f}", *row->second.cosine) : ""); },
          [](Row one, Row other) {
              return figure_less(badness_of(one->second.cosine), badness_of(other->second.cosine));
          }},
         figure_column<Row>(
             "largest difference", 1.8f, [](Row row) { return row->second.max_abs; }, figure_text),
         figure_column<Row>(
             "largest relative", 1.6f, [](Row row) { return row->second.max_rel; }, figure_text)},
        std::move(rows), 3);
}

}  // namespace diopi
