/// The tab with the shares of the allowed error that outputs used: a histogram of one function or all, and a row per
/// function.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

using Histogram = std::map<int64_t, int64_t>;  ///< outputs by percent, as FunctionFigures has them

/// From this percentage on an output barely passes.
constexpr int64_t kNear = 90;

ImU32 bar_colour(int64_t percent, const Palette& colours) {
    if (percent >= kOverBudget) return ImGui::GetColorU32(colours.failed);
    return ImGui::GetColorU32(percent >= kNear ? colours.advice : colours.accent);
}

int64_t most_of(const Histogram& histogram) {
    int64_t most = 1;
    for (const auto& [percent, outputs] : histogram) most = std::max(most, outputs);
    return most;
}

/// Bars in a rectangle, each percentage with the same width, on a logarithmic scale.
void draw_bars(const Histogram& histogram, const ImVec2& start, const ImVec2& size, const Palette& colours) {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const float step = size.x / static_cast<float>(kOverBudget + 1);
    const auto full = static_cast<float>(std::log1p(most_of(histogram)));
    for (const auto& [percent, outputs] : histogram) {
        const float height = std::max(3.0f, static_cast<float>(std::log1p(outputs)) / full * size.y);
        const float left = start.x + static_cast<float>(percent) * step, bottom = start.y + size.y;
        list->AddRectFilled({left, bottom - height}, {left + std::max(2.0f, step - 1), bottom},
                            bar_colour(percent, colours));
    }
    list->AddLine({start.x, start.y + size.y}, {start.x + size.x, start.y + size.y}, ImGui::GetColorU32(colours.line));
}

void draw_axis(const ImVec2& start, const ImVec2& size, const Palette& colours) {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const float step = size.x / static_cast<float>(kOverBudget + 1);
    for (int64_t percent = 0; percent <= 100; percent += 25) {
        const float x = start.x + static_cast<float>(percent) * step;
        const std::string label = fmt::format("{}%", percent);
        list->AddLine({x, start.y}, {x, start.y + size.y}, ImGui::GetColorU32(colours.line));
        list->AddText({x - (percent == 100 ? ImGui::CalcTextSize(label.c_str()).x : 0), start.y + size.y + 3},
                      ImGui::GetColorU32(colours.soft), label.c_str());
    }
}

void draw_bar_under_mouse(const Histogram& histogram, float left, float width) {
    const auto at =
        static_cast<int64_t>((ImGui::GetIO().MousePos.x - left) / width * static_cast<float>(kOverBudget + 1));
    const auto found = histogram.find(at);
    if (found == histogram.end()) return;
    const std::string share = at >= kOverBudget ? "over what is allowed" : fmt::format("{}% of what is allowed", at);
    ImGui::SetTooltip("%s: %lld outputs", share.c_str(), static_cast<long long>(found->second));
}

void draw_histogram(const std::string& title, const Histogram& histogram, const Palette& colours) {
    text(title);
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const ImVec2 size = {ImGui::GetContentRegionAvail().x, 9 * ImGui::GetFontSize()};
    draw_axis(start, size, colours);
    draw_bars(histogram, start, size, colours);
    ImGui::InvisibleButton("histogram", size);
    if (ImGui::IsItemHovered()) draw_bar_under_mouse(histogram, start.x, size.x);
    ImGui::Dummy({0, ImGui::GetTextLineHeight()});
}

struct AccuracyRow {
    const std::string* function;
    const Histogram* budgets;
    int64_t outputs, largest;
};

std::vector<AccuracyRow> accuracy_rows(const RunView& view) {
    std::vector<AccuracyRow> rows;
    for (const auto& [function, figures] : view.functions()) {
        if (figures.budgets.empty()) continue;
        int64_t outputs = 0;
        for (const auto& [percent, count] : figures.budgets) outputs += count;
        rows.push_back({&function, &figures.budgets, outputs, figures.budgets.rbegin()->first});
    }
    return rows;
}

void sort_accuracy(std::vector<AccuracyRow>& rows, const SortOrder& order) {
    std::ranges::stable_sort(rows, [&](const AccuracyRow& one, const AccuracyRow& other) {
        const auto& [a, b] = order.is_descending ? std::tie(other, one) : std::tie(one, other);
        switch (order.column) {
            case 1:
                return a.outputs < b.outputs;
            case 2:
                return a.largest < b.largest;
            default:
                return *a.function < *b.function;
        }
    });
}

void draw_accuracy_row(const AccuracyRow& row, GuiState& state) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (ImGui::Selectable(row.function->c_str(), state.function == *row.function,
                          ImGuiSelectableFlags_SpanAllColumns)) {
        state.function = state.function == *row.function ? "" : *row.function;
    }
    ImGui::TableNextColumn();
    right_text(std::to_string(row.outputs));
    ImGui::TableNextColumn();
    right_text(row.largest >= kOverBudget ? "over" : fmt::format("{}%", row.largest));
    ImGui::TableNextColumn();
    const ImVec2 size = {ImGui::GetContentRegionAvail().x, ImGui::GetTextLineHeight()};
    draw_bars(*row.budgets, ImGui::GetCursorScreenPos(), size, *state.colours);
    ImGui::Dummy(size);
}

void draw_accuracy_table(std::vector<AccuracyRow> rows, GuiState& state) {
    if (!ImGui::BeginTable("accuracy", 4, kTableStyle | ImGuiTableFlags_Sortable)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("function", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("outputs", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("largest share",
                            ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_DefaultSort |
                                ImGuiTableColumnFlags_PreferSortDescending,
                            1.3f);
    ImGui::TableSetupColumn("share of the allowed error, 0 to 100%",
                            ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_NoSort, 8);
    ImGui::TableHeadersRow();
    sort_accuracy(rows, sort_order());
    for (const AccuracyRow& row : rows) draw_accuracy_row(row, state);
    ImGui::EndTable();
}

}  // namespace

void draw_accuracy(GuiState& state) {
    const std::vector<AccuracyRow> rows = accuracy_rows(state.view);
    if (rows.empty()) {
        text("No output was compared.");
        return;
    }
    Histogram histogram;
    const bool is_one = state.view.functions().contains(state.function);
    for (const AccuracyRow& row : rows) {
        if (is_one && *row.function != state.function) continue;
        for (const auto& [percent, outputs] : *row.budgets) histogram[percent] += outputs;
    }
    draw_histogram(
        fmt::format("The largest share of the allowed error that each output of {} used (logarithmic height)",
                    is_one ? state.function : "all functions"),
        histogram, *state.colours);
    draw_accuracy_table(rows, state);
}

}  // namespace diopi
