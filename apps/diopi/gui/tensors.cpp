/// The tab with the tensors of a replay bundle as heat maps.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

constexpr std::array kSides = {HeatSide::kOurs, HeatSide::kTheirs, HeatSide::kDifference};

const char* title_of_side(HeatSide side) {
    switch (side) {
        case HeatSide::kOurs:
            return "ours";
        case HeatSide::kTheirs:
            return "theirs (expected)";
        case HeatSide::kDifference:
            break;
    }
    return "difference";
}

/// The bundles of the run's failures.
std::set<std::string> bundles_of_run(const RunView& view) {
    std::set<std::string> bundles;
    for (const Fault& fault : view.failures()) {
        if (!fault.bundle.empty() && fault.bundle.find(' ') == std::string::npos) bundles.insert(fault.bundle);
    }
    return bundles;
}

void draw_file(GuiState& state) {
    HeatView& heat = state.heat;
    ImGui::AlignTextToFramePadding();
    text("Bundle");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x * 0.6f);
    const bool is_entered = ImGui::InputText("##bundle", &heat.path, ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::SameLine();
    if ((ImGui::Button("Open") || is_entered) && !heat.path.empty()) heat.open(heat.path);
    const std::set<std::string> bundles = bundles_of_run(state.view);
    if (bundles.empty()) return;
    ImGui::SameLine();
    ImGui::SetNextItemWidth(-1);
    if (!ImGui::BeginCombo("##of the run", fmt::format("{} of this run", bundles.size()).c_str())) return;
    for (const std::string& bundle : bundles) {
        if (ImGui::Selectable(bundle.c_str(), bundle == heat.opened)) heat.open(bundle);
    }
    ImGui::EndCombo();
}

std::string label_of(const BundleTensor& tensor) {
    const Tensor& any = tensor.ours != nullptr ? *tensor.ours : *tensor.theirs;
    return fmt::format("{} {} {}", tensor.name, name(any.dtype), to_string(ShapeView(any.shape)));
}

void draw_choice(HeatView& heat) {
    ImGui::SetNextItemWidth(18 * ImGui::GetFontSize());
    if (ImGui::BeginCombo("##tensor", label_of(heat.tensors[heat.tensor]).c_str())) {
        for (size_t i = 0; i < heat.tensors.size(); ++i) {
            if (ImGui::Selectable(label_of(heat.tensors[i]).c_str(), i == heat.tensor)) heat.choose_tensor(i);
        }
        ImGui::EndCombo();
    }
    for (const HeatSide side : kSides) {
        ImGui::SameLine();
        ImGui::BeginDisabled(!has_side(heat.tensors[heat.tensor], side));
        if (ImGui::RadioButton(title_of_side(side), heat.side == side)) heat.choose_side(side);
        ImGui::EndDisabled();
    }
}

/// Chooses a dim for the rows or the columns; the two dims change places if it has the other's.
bool draw_dim(const char* title, const Shape& shape, int64_t& dim, int64_t& other) {
    const auto label = [&](int64_t d) { return fmt::format("dim {} ({})", d, shape[static_cast<size_t>(d)]); };
    bool is_changed = false;
    ImGui::SetNextItemWidth(8 * ImGui::GetFontSize());
    if (!ImGui::BeginCombo(title, label(dim).c_str())) return false;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
        if (!ImGui::Selectable(label(d).c_str(), d == dim)) continue;
        if (d == other) other = dim;
        dim = d;
        is_changed = true;
    }
    ImGui::EndCombo();
    return is_changed;
}

bool draw_index(int64_t dim, int64_t size, int64_t& index) {
    ImGui::SetNextItemWidth(10 * ImGui::GetFontSize());
    const int64_t first = 0, last = size - 1;
    const std::string title = fmt::format("dim {}", dim);
    const std::string format = fmt::format("%lld (0 to {})", last);
    return ImGui::SliderScalar(title.c_str(), ImGuiDataType_S64, &index, &first, &last, format.c_str(),
                               ImGuiSliderFlags_AlwaysClamp);
}

/// The dims of the map, and the index of each other.
void draw_slice(HeatView& heat) {
    const Shape& shape = shape_of(heat.tensors[heat.tensor], heat.side);
    if (shape.size() < 2) return;
    bool is_changed = draw_dim("down", shape, heat.slice.row_dim, heat.slice.column_dim);
    ImGui::SameLine();
    is_changed |= draw_dim("across", shape, heat.slice.column_dim, heat.slice.row_dim);
    for (size_t d = 0; d < shape.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        if (dim == heat.slice.row_dim || dim == heat.slice.column_dim || shape[d] < 2) continue;
        ImGui::SameLine();
        if (ImGui::GetContentRegionAvail().x < 14 * ImGui::GetFontSize()) ImGui::NewLine();
        is_changed |= draw_index(dim, shape[d], heat.slice.index[d]);
    }
    if (is_changed) heat.update();
}

/// The values as text, in cells that have the room.
void draw_numbers(const HeatView& heat, const ImVec2& start, const ImVec2& cell) {
    if (cell.x < 4.5f * ImGui::GetFontSize() || cell.y < 1.3f * ImGui::GetFontSize()) return;
    for (int64_t row = 0; row < heat.map.rows; ++row) {
        for (int64_t column = 0; column < heat.map.columns; ++column) {
            const double value = heat.map.cells[static_cast<size_t>(row * heat.map.columns + column)];
            const ImVec4 back = ImGui::ColorConvertU32ToFloat4(heat_colour(value, heat.map, heat.side));
            const bool is_light = 0.3f * back.x + 0.59f * back.y + 0.11f * back.z > 0.5f;
            const std::string number = fmt::format("{:.4g}", value);
            const ImVec2 size = ImGui::CalcTextSize(number.c_str());
            ImGui::GetWindowDrawList()->AddText({start.x + (static_cast<float>(column) + 0.5f) * cell.x - size.x / 2,
                                                 start.y + (static_cast<float>(row) + 0.5f) * cell.y - size.y / 2},
                                                is_light ? IM_COL32_BLACK : IM_COL32_WHITE, number.c_str());
        }
    }
}

/// "3", or "16..31" for a block of several elements.
std::string index_text(int64_t cell, int64_t block, int64_t size) {
    const int64_t first = cell * block, last = std::min(size, first + block) - 1;
    return first == last ? std::to_string(first) : fmt::format("{}..{}", first, last);
}

std::string place_text(const HeatView& heat, const Shape& shape, int64_t row, int64_t column) {
    std::vector<std::string> index;
    for (size_t d = 0; d < shape.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        if (dim == heat.slice.row_dim) {
            index.push_back(index_text(row, heat.map.block_rows, shape[d]));
        } else if (dim == heat.slice.column_dim) {
            index.push_back(index_text(column, heat.map.block_columns, shape[d]));
        } else {
            index.push_back(std::to_string(heat.slice.index[d]));
        }
    }
    return fmt::format("[{}]", fmt::join(index, ", "));
}

/// The index and the values of the cell under the mouse.
void draw_cell_under_mouse(const HeatView& heat, const ImVec2& start, const ImVec2& cell) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto column =
        std::clamp<int64_t>(static_cast<int64_t>((mouse.x - start.x) / cell.x), 0, heat.map.columns - 1);
    const auto row = std::clamp<int64_t>(static_cast<int64_t>((mouse.y - start.y) / cell.y), 0, heat.map.rows - 1);
    const BundleTensor& tensor = heat.tensors[heat.tensor];
    const Shape& shape = shape_of(tensor, heat.side);
    ImGui::BeginTooltip();
    text(place_text(heat, shape, row, column));
    if (heat.map.block_rows * heat.map.block_columns > 1) {
        text(fmt::format("largest of the block: {:.9g}",
                         heat.map.cells[static_cast<size_t>(row * heat.map.columns + column)]));
    } else {
        const int64_t flat = flat_of(shape, heat.slice, row, column);
        for (const HeatSide side : kSides) {
            if (has_side(tensor, side) && shape_of(tensor, side) == shape) {
                text(fmt::format("{}: {:.9g}", title_of_side(side), element_of(tensor, side, flat)));
            }
        }
    }
    ImGui::EndTooltip();
}

/// The range with its colours, and the number of elements that are no numbers.
void draw_legend(const HeatView& heat, const Palette& colours) {
    constexpr int kSteps = 64;
    const HeatMap& map = heat.map;
    ImDrawList* const list = ImGui::GetWindowDrawList();
    text(fmt::format("{:.5g}", map.high));
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float width = 1.6f * ImGui::GetFontSize(), height = 14 * ImGui::GetFontSize();
    for (int i = 0; i < kSteps; ++i) {
        const double value = map.high - (map.high - map.low) * (i + 0.5) / kSteps;
        const float top = start.y + height * static_cast<float>(i) / kSteps;
        list->AddRectFilled({start.x, top}, {start.x + width, top + height / kSteps + 1},
                            heat_colour(value, map, heat.side));
    }
    ImGui::Dummy({width, height});
    text(fmt::format("{:.5g}", map.low));
    const auto mark = [&](double value, int64_t count, const char* title) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float side = ImGui::GetTextLineHeight();
        list->AddRectFilled(at, {at.x + side, at.y + side}, heat_colour(value, map, heat.side));
        ImGui::Dummy({side, side});
        ImGui::SameLine();
        coloured_text(fmt::format("{} {}", count, title), count > 0 ? colours.text : colours.soft);
    };
    mark(std::numeric_limits<double>::quiet_NaN(), map.nans, "NaN");
    mark(std::numeric_limits<double>::infinity(), map.infinities, "infinite");
    if (map.block_rows * map.block_columns > 1) {
        wrapped_text(fmt::format("A cell has {} x {} elements and shows the one with the largest |value|.",
                                 map.block_rows, map.block_columns));
    }
}

/// The size of a cell: square ones where they fit; a tensor of few rows or columns is stretched.
ImVec2 cell_size(const HeatMap& map, const ImVec2& room) {
    const float widest = 6 * ImGui::GetFontSize(), least = 5 * ImGui::GetFontSize();
    const ImVec2 full = {room.x / static_cast<float>(map.columns), room.y / static_cast<float>(map.rows)};
    const float side = std::min({full.x, full.y, widest});
    return {std::min(full.x, std::max(side, map.columns < 8 ? widest : side)),
            std::min(full.y, std::max(side, map.rows < 8 ? least : side))};
}

void draw_map(GuiState& state) {
    const HeatView& heat = state.heat;
    const float legend = 12 * ImGui::GetFontSize();
    const ImVec2 avail = ImGui::GetContentRegionAvail();
    if (heat.map.cells.empty()) {
        text("The tensor has no elements.");
        return;
    }
    const ImVec2 cell = cell_size(heat.map, {avail.x - legend, avail.y - 4});
    const ImVec2 size = {cell.x * static_cast<float>(heat.map.columns), cell.y * static_cast<float>(heat.map.rows)};
    const ImVec2 start = ImGui::GetCursorScreenPos();
    ImGui::Image(std::bit_cast<ImTextureID>(uintptr_t{heat.texture.number()}), size, {0, 0}, {1, 1}, {1, 1, 1, 1},
                 state.colours->line);
    if (ImGui::IsItemHovered()) draw_cell_under_mouse(heat, start, cell);
    draw_numbers(heat, start, cell);
    ImGui::SameLine(0, 1.5f * ImGui::GetFontSize());
    ImGui::BeginGroup();
    draw_legend(heat, *state.colours);
    ImGui::EndGroup();
}

}  // namespace

void draw_tensors(GuiState& state) {
    draw_file(state);
    HeatView& heat = state.heat;
    if (!heat.problem.empty()) coloured_text(heat.problem, state.colours->failed);
    if (heat.tensors.empty()) {
        if (heat.problem.empty()) {
            text("Choose the bundle of a failure, which diopi test --save-failures DIR writes.");
        }
        return;
    }
    wrapped_text(heat.title);
    draw_choice(heat);
    draw_slice(heat);
    ImGui::Spacing();
    draw_map(state);
}

}  // namespace diopi
