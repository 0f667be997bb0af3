/// The tab with the calls that failed: a list, and below it the facts of one.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

std::string key_of(const Fault& fault) { return fault.result->case_id + " " + fault.step; }

void draw_row(const Fault& fault, GuiState& state) {
    const std::string key = key_of(fault);
    ImGui::PushID(key.c_str());
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (ImGui::Selectable("##row", state.failure == key, ImGuiSelectableFlags_SpanAllColumns)) state.failure = key;
    ImGui::SameLine(0, 0);
    coloured_text(name(fault.verdict), state.colours->failed);
    for (const std::string& cell :
         {fault.function, fault.step, fault.result->dtype, fault.result->case_id, fault.reason}) {
        ImGui::TableNextColumn();
        text(cell);
    }
    ImGui::PopID();
}

void draw_list(GuiState& state, float height) {
    if (!ImGui::BeginTable("failures", 6, kTableStyle, {0, height})) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    const auto column = [](const char* title, float weight) {
        ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthStretch, weight);
    };
    column("verdict", 1);
    column("function", 2);
    column("step", 1);
    column("dtype", 1);
    column("case", 3);
    column("reason", 6);
    ImGui::TableHeadersRow();
    const std::vector<Fault>& failures = state.view.failures();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(failures.size()));
    while (clipper.Step()) {
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
            draw_row(failures[static_cast<size_t>(i)], state);
    }
    ImGui::EndTable();
}

void draw_figures(const Deviation& deviation, const Palette& colours) {
    const DeviationText figures = deviation_text(deviation);
    draw_fact("mismatches", figures.mismatches, colours);
    draw_fact("where", deviation.where, colours);
    draw_fact("worst element", figures.worst, colours);
    draw_fact("error", figures.error, colours);
}

/// The bundles of a case that ended its worker are several, with spaces between them.
std::vector<std::string> bundles_of(const Fault& fault) {
    std::vector<std::string> bundles;
    size_t start = 0;
    while (start < fault.bundle.size()) {
        const size_t end = std::min(fault.bundle.find(' ', start), fault.bundle.size());
        bundles.push_back(fault.bundle.substr(start, end - start));
        start = end + 1;
    }
    return bundles;
}

void draw_bundles(const Fault& fault, GuiState& state) {
    for (const std::string& bundle : bundles_of(fault)) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        coloured_text("bundle", state.colours->soft);
        ImGui::TableNextColumn();
        ImGui::PushID(bundle.c_str());
        if (ImGui::SmallButton("Show tensors")) {
            state.heat.open(bundle);
            state.wanted_tab = Tab::kTensors;
        }
        ImGui::PopID();
        ImGui::SameLine();
        text(bundle);
    }
}

void draw_repeat(const Fault& fault, const GuiState& state) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    coloured_text("repeat", state.colours->soft);
    ImGui::TableNextColumn();
    command_line(repeat_command(fault.result->case_id, state.view.header().repeat), state.fonts.mono);
}

void draw_facts(const Fault& fault, GuiState& state) {
    if (!begin_facts(fault.function, 8, state.fonts.title)) return;
    draw_fact("case", fault.result->case_id, *state.colours);
    draw_fact("step", fault.step, *state.colours);
    draw_fact("verdict", name(fault.verdict), *state.colours);
    draw_fact("reason", fault.reason, *state.colours);
    draw_fact("tensors", tensor_info(fault.result->tensors), *state.colours);
    if (fault.deviation != nullptr) draw_figures(*fault.deviation, *state.colours);
    draw_repeat(fault, state);
    draw_bundles(fault, state);
    ImGui::EndTable();
}

}  // namespace

void draw_failures(GuiState& state) {
    const std::vector<Fault>& failures = state.view.failures();
    if (failures.empty()) {
        text(state.view.results().empty() ? "No case has ended that the filter chooses." : "No failures.");
        return;
    }
    auto open = std::ranges::find(failures, state.failure, key_of);
    if (open == failures.end()) open = failures.begin();
    state.failure = key_of(*open);
    const float rows = ImGui::GetFrameHeight() * static_cast<float>(failures.size() + 2);
    draw_list(state, std::min(rows, ImGui::GetContentRegionAvail().y * 0.55f));
    ImGui::Spacing();
    draw_facts(*open, state);
}

}  // namespace diopi
