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

/// A horizontal bar of that height over the rest of the line, divided as the verdicts are.
void verdict_bar(const Counts& counts, float height, const Palette& colours);

/// Texts as they are: no character of them has a meaning.
void text(std::string_view text);
void coloured_text(std::string_view text, const ImVec4& colour);
void wrapped_text(std::string_view text);
/// A number at the right end of a table's cell.
void right_text(std::string_view text);
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
