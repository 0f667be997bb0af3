/// Tables whose columns sort by a click on their titles.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/figure_text.hpp"
#include "journal/case_order.hpp"
#include "widgets.hpp"

namespace diopi {

/// Titles are texts as they are; those of figures are at the right.
struct ColumnTitle {
    std::string text;
    float weight = 1;
    bool is_figure = false, sorts = true;
};

template <class Row>
struct TableColumn {
    ColumnTitle title;
    std::function<void(const Row& row)> draw;
    /// The order of rows by this column; empty if the title does not sort.
    std::function<bool(const Row& one, const Row& other)> is_less = {};
};

/// Sets the columns up, with the one by which the table is sorted at first, and draws their titles.
void draw_titles(const std::vector<ColumnTitle>& titles, int first_sort);

/// A column of names, which sort as the ids of cases do.
template <class Row, class TextOf>
TableColumn<Row> name_column(std::string title, float weight, TextOf text_of) {
    return {{std::move(title), weight},
            [=](const Row& row) { cell_text(std::string(text_of(row))); },
            [=](const Row& one, const Row& other) { return natural_less(text_of(one), text_of(other)); }};
}

/// A column of figures, whose largest ones are first; `text_of` makes a text of what `figure_of` returns.
template <class Row, class FigureOf, class TextOf>
TableColumn<Row> figure_column(std::string title, float weight, FigureOf figure_of, TextOf text_of) {
    return {{std::move(title), weight, true},
            [=](const Row& row) { right_text(text_of(figure_of(row))); },
            [=](const Row& one, const Row& other) { return figure_less(figure_of(one), figure_of(other)); }};
}

/// A column that only draws.
template <class Row, class Draw>
TableColumn<Row> drawn_column(std::string title, float weight, Draw draw) {
    return {{std::move(title), weight, false, false}, draw};
}

/// Draws the rows in the order of `first_sort`, a column, or of the title that was clicked; -1: in their own. `height`
/// 0: the rest of the window.
template <class Row>
void sorted_table(const char* id, const std::vector<TableColumn<Row>>& columns, std::vector<Row> rows, int first_sort,
                  float height = 0) {
    const ImGuiTableFlags sorting = first_sort < 0 ? 0 : ImGuiTableFlags_Sortable;
    if (!ImGui::BeginTable(id, static_cast<int>(columns.size()), kTableStyle | sorting, {0, height})) return;
    std::vector<ColumnTitle> titles;
    for (const TableColumn<Row>& column : columns) titles.push_back(column.title);
    draw_titles(titles, first_sort);
    if (first_sort >= 0) {
        const SortOrder order = sort_order();
        const auto& is_less = columns[static_cast<size_t>(order.column)].is_less;
        std::stable_sort(rows.begin(), rows.end(), [&](const Row& one, const Row& other) {
            return order.is_descending ? is_less(other, one) : is_less(one, other);
        });
    }
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step()) {
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            ImGui::TableNextRow();
            ImGui::PushID(i);
            for (const TableColumn<Row>& column : columns) {
                ImGui::TableNextColumn();
                column.draw(rows[static_cast<size_t>(i)]);
            }
            ImGui::PopID();
        }
    }
    ImGui::EndTable();
}

/// The height of a table of that many rows, and of at most that share of the rest of the window.
[[nodiscard]] float table_height(size_t rows, float most_share);

}  // namespace diopi
