/// The figures of a profile, and its tabs with tables: ratios to another side, time by operator, calls.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "kept_head.hpp"
#include "report/profile_table.hpp"
#include "report/table.hpp"
#include "sorted_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

using CallRow = const KeptCall*;

const ImVec4& speed_colour(const std::string& verdict, const Palette& colours) {
    if (verdict == "SLOWER") return colours.failed;
    return verdict == "FASTER" ? colours.passed : colours.soft;
}

std::vector<Tile> base_tiles(const KeptBase& base, const Palette& colours) {
    const auto tile = [&](int64_t count, const char* verdict) {
        const bool is_plain = speed_colour(verdict, colours).x == colours.soft.x;
        return Tile{std::to_string(count), verdict,
                    count == 0 ? colours.soft
                    : is_plain ? colours.text
                               : speed_colour(verdict, colours)};
    };
    return {tile(base.slower, "SLOWER"), tile(base.faster, "FASTER"), tile(base.same, "SAME"),
            tile(base.ambiguous, "AMBIGUOUS")};
}

/// A ratio with its interval on a logarithmic line from 1/4 to 4.
void draw_interval(const KeptRatio& ratio, const Palette& colours) {
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x - 4, line = ImGui::GetTextLineHeight();
    const auto x_of = [&](double place) { return start.x + 2 + static_cast<float>(place) * width; };
    ImDrawList* const list = ImGui::GetWindowDrawList();
    for (const double place : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        const ImVec4& colour = place == 0.5 ? colours.text : colours.line;
        list->AddLine({x_of(place), start.y}, {x_of(place), start.y + line}, ImGui::GetColorU32(colour));
    }
    const bool is_plain = ratio.verdict != "SLOWER" && ratio.verdict != "FASTER";
    const ImVec4& colour = is_plain ? colours.accent : speed_colour(ratio.verdict, colours);
    const float low = x_of(ratio.low ? ratio_place(ratio.low) : 0), high = x_of(ratio_place(ratio.high));
    const float middle = start.y + line / 2, value = x_of(ratio_place(ratio.value));
    list->AddRectFilled({low, middle - 2}, {std::max(low + 1, high), middle + 2}, ImGui::GetColorU32(colour));
    list->AddRectFilled({value - 1.5f, start.y + 1}, {value + 1.5f, start.y + line - 1}, ImGui::GetColorU32(colour));
    ImGui::Dummy({width, line});
    if (!ImGui::IsItemHovered()) return;
    const std::string high_text = ratio.high ? figure_text(ratio.high) : "infinity";
    tooltip(fmt::format("{} (95%: {} to {})", figure_text(ratio.value), figure_text(ratio.low), high_text));
}

void draw_time_bar(double share, const Palette& colours) {
    const float width = ImGui::GetContentRegionAvail().x;
    divided_bar({{1, colours.accent, ""}}, 0.6f * ImGui::GetTextLineHeight(),
                std::max(2.0f, width * static_cast<float>(share)));
}

std::string interval_text(const KeptCall& call) {
    if (!call.is_measured() || !call.low || !call.high) return "";
    return fmt::format("{} to {}", time_text(*call.low), time_text(*call.high));
}

std::string measured_text(double seconds) { return seconds > 0 ? time_text(seconds) : ""; }
std::string roof_text(double share) { return share > 0 ? share_text(share) : ""; }
double median_of(CallRow call) { return call->median.value_or(0); }

TableColumn<CallRow> call_name_column() {
    return name_column<CallRow>("operator", 2, [](CallRow call) -> const std::string& { return call->name; });
}
TableColumn<CallRow> call_place_column() {
    return name_column<CallRow>("case or layer", 3.2f,
                                [](CallRow call) -> const std::string& { return call->place(); });
}
TableColumn<CallRow> call_dtype_column() {
    return name_column<CallRow>("dtype", 1.2f, [](CallRow call) -> const std::string& { return call->dtype; });
}

}  // namespace

void draw_profile_head(GuiState& state) {
    const auto& [about, view] = *state.reports.profile();
    const KeptProfile& profile = view.profile();
    const Palette& colours = *state.colours;
    draw_about(about, state);
    std::vector<Tile> tiles = {{std::to_string(view.measured()), "calls", colours.text},
                               {time_text(view.seconds()), "sum of the medians", colours.text}};
    if (profile.empty_call > 0) tiles.push_back({time_text(profile.empty_call), "call on one element", colours.text});
    const size_t missing = profile.calls.size() - view.measured();
    if (missing > 0) tiles.push_back({std::to_string(missing), "not measured", colours.failed});
    if (profile.base) {
        for (Tile& tile : base_tiles(*profile.base, colours)) tiles.push_back(std::move(tile));
    }
    draw_tiles(tiles, colours, state.fonts.title);
}

void draw_ratios(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    const KeptBase& base = *view.profile().base;
    const std::string mean =
        base.geometric_mean ? fmt::format(", geometric mean of the ratios {:.3f}", *base.geometric_mean) : "";
    note_text(fmt::format("Against {}: {}{}. Time here divided by the time there, with its 95% interval: left of "
                          "the middle is faster.",
                          base.name, counted(base.compared, "call"), mean),
              *state.colours);
    const auto ratio_of = [](CallRow call) { return *call->ratio->value; };
    sorted_table<CallRow>(
        "ratios",
        {call_name_column(),
         call_place_column(),
         call_dtype_column(),
         figure_column<CallRow>("here", 1.2f, median_of, time_text),
         figure_column<CallRow>(
             "there", 1.2f, [](CallRow call) { return call->ratio->base_median.value_or(0); }, measured_text),
         figure_column<CallRow>("ratio", 1, ratio_of, [](double ratio) { return fmt::format("{:.3f}", ratio); }),
         drawn_column<CallRow>("ratio, from 1/4 to 4", 5,
                               [&](CallRow call) { draw_interval(*call->ratio, *state.colours); }),
         {{"verdict", 1.4f},
          [&](CallRow call) {
              coloured_text(call->ratio->verdict, speed_colour(call->ratio->verdict, *state.colours));
          },
          [](CallRow one, CallRow other) { return one->ratio->verdict < other->ratio->verdict; }}},
        view.ratios(), 5);
}

void draw_operator_times(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    note_text(
        "Sums of the calls' medians. The share of the roof is 100% where a call is as fast as the measured rates "
        "allow.",
        *state.colours);
    using Row = OperatorTime;
    sorted_table<Row>(
        "operators",
        {name_column<Row>("operator", 3, [](const Row& row) -> const std::string& { return row.name; }),
         figure_column<Row>(
             "calls", 1, [](const Row& row) { return row.calls; }, [](int64_t calls) { return std::to_string(calls); }),
         figure_column<Row>(
             "time", 1.3f, [](const Row& row) { return row.seconds; }, time_text),
         figure_column<Row>(
             "share of time", 1.3f, [](const Row& row) { return row.share; }, share_text),
         figure_column<Row>(
             "of the roof", 1.3f, [](const Row& row) { return row.of_roof; }, roof_text),
         drawn_column<Row>("", 5, [&](const Row& row) { draw_time_bar(row.share, *state.colours); })},
        view.operators(), 2);
}

void draw_profiled_calls(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    sorted_table<CallRow>(
        "calls",
        {call_name_column(),
         call_place_column(),
         name_column<CallRow>("phase", 1.2f, [](CallRow call) -> const std::string& { return call->phase; }),
         call_dtype_column(),
         name_column<CallRow>(
             "shapes", 4,
             [](CallRow call) -> const std::string& { return call->error.empty() ? call->shapes : call->error; }),
         figure_column<CallRow>("median", 1.2f, median_of, measured_text),
         {{"95% interval", 2.7f, true, false}, [](CallRow call) { right_text(interval_text(*call)); }},
         figure_column<CallRow>(
             "of the roof", 1.2f, [](CallRow call) { return share_of_roof(*call); }, roof_text)},
        view.calls(), 5);
}

}  // namespace diopi
