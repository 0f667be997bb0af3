#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "gui.hpp"
#include "gui_state.hpp"
#include "journal/journal_follower.hpp"
#include "report/summary.hpp"
#include "widgets.hpp"
#include "window.hpp"

namespace diopi {

namespace {

/// How often the journal is read, and, while a run goes on, the figures are computed at most.
constexpr double kPollSeconds = 0.25, kRefreshSeconds = 0.5;
/// Frames until the layout of tables and tabs has settled.
constexpr int kSettlingFrames = 6;

/// The run's journal, and what the window shows of it.
class RunWindow {
 public:
    RunWindow(const WindowOptions& options, const Window& window)
        : follower_(options.journal), filter_(options.filter), scale_(window.scale()) {
        state_.run = options.journal;
        state_.fonts = window.fonts();
        state_.wanted_tab = options.tab;
        set_theme(options.is_dark);
    }

    Status open_bundle(const std::string& bundle) {
        state_.heat.open(bundle);
        return state_.heat.problem.empty() ? Status() : bad_input(state_.heat.problem);
    }
    /// Reads what the run has appended.
    void follow();
    void draw();

    [[nodiscard]] bool is_reading() const { return follower_.has_more(); }
    /// Empty, or why the journal cannot be read.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] const ImVec4& background() const { return state_.colours->back; }
    [[nodiscard]] bool is_ended() const { return is_ended_; }

 private:
    void set_theme(bool is_dark);
    void refresh();
    void draw_menu();
    void draw_head();
    void draw_tabs();

    JournalFollower follower_;
    GuiState state_;
    std::string filter_, problem_;
    float scale_;
    bool is_dark_ = false, is_stale_ = true, is_ended_ = false;
    double refreshed_ = -kRefreshSeconds;
};

void RunWindow::set_theme(bool is_dark) {
    is_dark_ = is_dark;
    state_.colours = &palette(is_dark);
    apply_theme(is_dark, scale_);
}

void RunWindow::follow() {
    const Result<bool> changed = follower_.poll();
    problem_ = changed.ok() ? "" : changed.error().message;
    is_stale_ |= !changed.ok() || *changed;
    const bool was_active = state_.is_active;
    state_.is_active = follower_.is_active();
    is_stale_ |= was_active != state_.is_active;
    if (is_stale_ && !follower_.has_more() && ImGui::GetTime() - refreshed_ >= kRefreshSeconds) refresh();
}

void RunWindow::refresh() {
    const Journal& journal = follower_.journal();
    state_.view = RunView(journal, filter_);
    state_.has_run = follower_.has_run();
    state_.progress = progress_text(journal, state_.is_active);
    const auto done = static_cast<float>(journal.results.size());
    state_.progress_share = done / static_cast<float>(std::max<int64_t>(1, journal.header.cases));
    is_stale_ = false;
    refreshed_ = ImGui::GetTime();
}

void RunWindow::draw_menu() {
    if (!ImGui::BeginMenuBar()) return;
    if (ImGui::BeginMenu("Window")) {
        if (ImGui::MenuItem("Close", "Ctrl+Q")) is_ended_ = true;
        ImGui::EndMenu();
    }
    if (ImGui::BeginMenu("View")) {
        if (ImGui::MenuItem("Light", nullptr, !is_dark_)) set_theme(false);
        if (ImGui::MenuItem("Dark", nullptr, is_dark_)) set_theme(true);
        ImGui::EndMenu();
    }
    ImGui::EndMenuBar();
}

void RunWindow::draw_head() {
    const RunHeader& header = state_.view.header();
    ImGui::PushFont(state_.fonts.title);
    text(short_name(header.backend));
    ImGui::PopFont();
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    coloured_text(state_.progress, state_.is_active ? state_.colours->accent : state_.colours->text);
    if (!filter_.empty()) {
        ImGui::SameLine();
        text(fmt::format("({} by the filter)", state_.view.results().size()));
    }
    ImGui::SameLine();
    const float width = 20 * ImGui::GetFontSize(), left = ImGui::GetWindowContentRegionMax().x - width;
    const ImVec2 start = ImGui::GetCursorScreenPos();
    ImGui::PushClipRect(start, {ImGui::GetWindowPos().x + left - 8, start.y + ImGui::GetFrameHeight()}, true);
    coloured_text(state_.run + ", started " + header.started, state_.colours->soft);
    ImGui::PopClipRect();
    ImGui::SameLine(std::max(0.0f, left));
    ImGui::SetNextItemWidth(width);
    if (ImGui::InputTextWithHint("##filter", "filter: operator or function", &filter_)) refresh();
}

void RunWindow::draw_tabs() {
    using Draw = void (*)(GuiState&);
    constexpr std::array<std::pair<const char*, Draw>, kTabNames.size()> kTabs = {{{"Overview", draw_overview},
                                                                                   {"Failures", draw_failures},
                                                                                   {"Support", draw_support},
                                                                                   {"Accuracy", draw_accuracy},
                                                                                   {"Time", draw_times},
                                                                                   {"Tensors", draw_tensors}}};
    if (!ImGui::BeginTabBar("tabs")) return;
    const std::optional<Tab> wanted = std::exchange(state_.wanted_tab, std::nullopt);
    for (size_t i = 0; i < kTabs.size(); ++i) {
        const bool is_wanted = wanted && static_cast<size_t>(*wanted) == i;
        if (!ImGui::BeginTabItem(kTabs[i].first, nullptr, is_wanted ? ImGuiTabItemFlags_SetSelected : 0)) continue;
        ImGui::BeginChild("content");
        kTabs[i].second(state_);
        ImGui::EndChild();
        ImGui::EndTabItem();
    }
    ImGui::EndTabBar();
}

void RunWindow::draw() {
    const ImGuiViewport* const screen = ImGui::GetMainViewport();
    ImGui::SetNextWindowPos(screen->WorkPos);
    ImGui::SetNextWindowSize(screen->WorkSize);
    constexpr auto kWhole = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                            ImGuiWindowFlags_MenuBar;
    ImGui::PushFont(state_.fonts.text);
    ImGui::Begin("diopi", nullptr, kWhole);
    draw_menu();
    if (state_.has_run) {
        draw_head();
    } else {
        text(problem_.empty() ? "waiting for " + state_.run : problem_);
    }
    draw_tabs();
    ImGui::End();
    ImGui::PopFont();
}

/// Draws until the window is closed, or until its picture is written.
Status run_window(const WindowOptions& options) {
    auto window = Window::open("diopi report");
    if (!window.ok()) return window.error();
    RunWindow run(options, **window);
    if (!options.screenshot.empty()) (*window)->ignore_mouse();
    if (!options.bundle.empty()) {
        if (Status s = run.open_bundle(options.bundle); !s.ok()) return s;
    }
    for (int frame = 0; !(*window)->is_closed() && !run.is_ended(); ++frame) {
        run.follow();
        (*window)->begin_frame();
        run.draw();
        (*window)->render(run.background());
        if (run.is_reading()) frame = 0;
        if (!options.screenshot.empty() && frame >= kSettlingFrames) {
            if (!run.problem().empty()) return bad_input(run.problem());
            return write_png(options.screenshot, (*window)->picture());
        }
        (*window)->show();
        // The mouse changes what is drawn one frame later.
        const bool is_settling = run.is_reading() || frame % 2 == 0;
        (*window)->wait(is_settling || !options.screenshot.empty() ? 0 : kPollSeconds);
    }
    return {};
}

}  // namespace

}  // namespace diopi

extern "C" void diopi_open_window(const diopi::WindowOptions& options, diopi::Status& status) {
    status = diopi::run_window(options);
}
