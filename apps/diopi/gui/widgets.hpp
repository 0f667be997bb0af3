/// Parts that several tabs draw.
#pragma once

#include <imgui.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "report/summary.hpp"
#include "theme.hpp"

namespace diopi {

/// The verdicts in the order of the page.
struct VerdictColumn {
    Verdict verdict;
    const char* title;
    int64_t Counts::*count;
    ImVec4 Palette::*colour;
};
inline constexpr std::array kVerdictColumns = {
    VerdictColumn{Verdict::kPassed, "passed", &Counts::passed, &Palette::passed},
    VerdictColumn{Verdict::kFailed, "failed", &Counts::failed, &Palette::failed},
    VerdictColumn{Verdict::kCrashed, "crashed", &Counts::crashed, &Palette::failed},
    VerdictColumn{Verdict::kTimeout, "timeout", &Counts::timeout, &Palette::failed},
    VerdictColumn{Verdict::kNotImplemented, "not implemented", &Counts::not_implemented, &Palette::missing},
    VerdictColumn{Verdict::kSkipped, "skipped", &Counts::skipped, &Palette::skipped},
    VerdictColumn{Verdict::kAdvice, "advice", &Counts::advice, &Palette::advice}};

[[nodiscard]] const ImVec4& colour_of(Verdict verdict, const Palette& colours);

/// The columns of verdicts that occur, and passed and failed.
[[nodiscard]] std::vector<VerdictColumn> shown_verdicts(const Counts& counts);

/// A part of a bar; `title` is shown when the mouse is over it.
struct BarPart {
    double size = 0;
    ImVec4 colour;
    std::string title;
};
/// A horizontal bar of that height and width, divided as the sizes are.
void divided_bar(const std::vector<BarPart>& parts, float height, float width);
/// The same over the rest of the line, divided as the verdicts are.
void verdict_bar(const Counts& counts, float height, const Palette& colours);

/// The box of a legend, before its text on the same line.
void legend_box(const ImVec4& colour, const ImVec4& outline);

/// A number in a box, with its title below.
struct Tile {
    std::string number, title;
    ImVec4 colour;
};
/// In rows.
void draw_tiles(const std::vector<Tile>& tiles, const Palette& colours, ImFont* number_font);

/// Texts as they are: no character of them has a meaning.
void text(std::string_view text);
void coloured_text(std::string_view text, const ImVec4& colour);
void wrapped_text(std::string_view text);
/// An explanation of a view, drawn above it.
void note_text(std::string_view text, const Palette& colours);
/// A number at the right end of a table's cell.
void right_text(std::string_view text);
/// A text that ends in dots if it is wider; true if it is.
bool elided_text(std::string_view text, float width);
/// A text that is cut at the end of its cell; then it is shown whole when the mouse is over it.
void cell_text(const std::string& text);
/// A text beside the mouse.
void tooltip(std::string_view text);
/// Draws a heading and begins a table of facts; false if nothing of it is visible. Titles have room for `title_width`
/// letters of full size.
[[nodiscard]] bool begin_facts(std::string_view heading, float title_width, ImFont* font);
/// A row of a table of facts: its title, and its value; nothing for an empty one.
void draw_fact(const char* title, const std::string& value, const Palette& colours);
/// A command and a button that copies it.
void command_line(const std::string& command, ImFont* mono);

/// Selects the column by which a table is sorted, and whether downwards; 0 and false for a table that is not sorted.
struct SortOrder {
    int column = 0;
    bool is_descending = false;
};
[[nodiscard]] SortOrder sort_order();

inline constexpr ImGuiTableFlags kTableStyle = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                               ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
                                               ImGuiTableFlags_NoBordersInBody;

}  // namespace diopi
