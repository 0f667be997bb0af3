#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui.hpp"
#include "gui_state.hpp"
#include "journal/journal_follower.hpp"
#include "journal/kept_follower.hpp"
#include "tabs.hpp"
#include "widgets.hpp"
#include "window.hpp"
#include "window_head.hpp"

namespace diopi {

namespace {

/// How often the journal is read, and, while a run goes on, the figures are computed at most.
constexpr double kPollSeconds = 0.25, kRefreshSeconds = 0.5;
/// How often the files of kept reports are looked at.
constexpr double kReportSeconds = 1;
/// Frames until the layout of tables and tabs has settled.
constexpr int kSettlingFrames = 6;

/// The run's journal and kept reports, and what the window shows of them.
class RunWindow {
 public:
    RunWindow(const WindowOptions& options, const Window& window)
        : wanted_tab_(options.tab), filter_(options.filter), scale_(window.scale()) {
        if (!options.journal.empty()) journal_.emplace(options.journal);
        if (!options.reports.empty()) reports_.emplace(options.reports);
        state_.place = options.place;
        state_.run = options.journal.empty() ? options.reports : options.journal;
        state_.reports.choose(filter_);
        state_.fonts = window.fonts();
        state_.wanted_tab = options.tab;
        set_theme(options.is_dark);
    }

    Status open_bundle(const std::string& bundle) {
        state_.heat.open(bundle);
        return state_.heat.problem.empty() ? Status() : bad_input(state_.heat.problem);
    }
    /// Reads what the run has appended, and reports that were written.
    void follow();
    void draw();

    [[nodiscard]] bool is_reading() const { return journal_ && journal_->has_more(); }
    /// Why a file cannot be read, or the run has nothing for the wanted tab.
    [[nodiscard]] Status status() const;
    [[nodiscard]] const ImVec4& background() const { return state_.colours->back; }
    [[nodiscard]] bool is_ended() const { return is_ended_; }

 private:
    void set_theme(bool is_dark);
    void follow_journal();
    void follow_reports();
    void refresh();
    [[nodiscard]] std::vector<std::string> problems() const;
    void draw_menu();
    void draw_head();
    void draw_filter();

    std::optional<JournalFollower> journal_;
    std::optional<KeptFollower> reports_;
    GuiState state_;
    std::optional<Tab> wanted_tab_;
    std::string filter_, problem_;
    float scale_;
    bool is_dark_ = false, is_stale_ = true, is_ended_ = false;
    double refreshed_ = -kRefreshSeconds, reports_polled_ = -kReportSeconds;
};

void RunWindow::set_theme(bool is_dark) {
    is_dark_ = is_dark;
    state_.colours = &palette(is_dark);
    apply_theme(is_dark, scale_);
}

void RunWindow::follow() {
    if (journal_) follow_journal();
    if (reports_ && ImGui::GetTime() - reports_polled_ >= kReportSeconds) follow_reports();
}

void RunWindow::follow_journal() {
    const Result<bool> changed = journal_->poll();
    problem_ = changed.ok() ? "" : changed.error().message;
    is_stale_ |= !changed.ok() || *changed;
    const bool was_active = state_.is_active;
    state_.is_active = journal_->is_active();
    is_stale_ |= was_active != state_.is_active;
    if (is_stale_ && !journal_->has_more() && ImGui::GetTime() - refreshed_ >= kRefreshSeconds) refresh();
}

void RunWindow::follow_reports() {
    state_.reports.take(reports_->poll());
    reports_polled_ = ImGui::GetTime();
}

void RunWindow::refresh() {
    const Journal& journal = journal_->journal();
    state_.view = RunView(journal, filter_);
    state_.has_run = journal_->has_run();
    state_.progress = progress_text(journal, state_.is_active);
    const auto done = static_cast<float>(journal.results.size());
    state_.progress_share = done / static_cast<float>(std::max<int64_t>(1, journal.header.cases));
    is_stale_ = false;
    refreshed_ = ImGui::GetTime();
}

std::vector<std::string> RunWindow::problems() const {
    std::vector<std::string> problems = state_.reports.problems();
    if (!problem_.empty()) problems.insert(problems.begin(), problem_);
    return problems;
}

Status RunWindow::status() const {
    if (const std::vector<std::string> found = problems(); !found.empty()) return bad_input(found.front());
    const std::string missing = wanted_tab_ ? missing_tab(state_, *wanted_tab_) : "";
    return missing.empty() ? Status() : bad_input(missing);
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
    const WindowHead head = head_of(state_);
    const float width = 20 * ImGui::GetFontSize(), left = ImGui::GetWindowContentRegionMax().x - width;
    ImGui::PushFont(state_.fonts.title);
    text(head.subject);
    ImGui::PopFont();
    std::vector<std::pair<std::string, ImVec4>> parts = {
        {head.summary, head.is_active ? state_.colours->accent : state_.colours->text}};
    if (!filter_.empty() && head.is_of_tests) {
        parts.emplace_back(fmt::format("({} by the filter)", state_.view.results().size()), state_.colours->text);
    }
    parts.emplace_back(head.origin, state_.colours->soft);
    for (const auto& [part, colour] : parts) {
        ImGui::SameLine();
        ImGui::AlignTextToFramePadding();
        ImGui::PushStyleColor(ImGuiCol_Text, colour);
        elided_text(part, left - 8 - ImGui::GetCursorPosX());
        ImGui::PopStyleColor();
    }
    ImGui::SameLine(std::max(0.0f, left));
    ImGui::SetNextItemWidth(width);
    draw_filter();
}

void RunWindow::draw_filter() {
    if (!ImGui::InputTextWithHint("##filter", "filter: operator, function or layer", &filter_)) return;
    if (journal_) refresh();
    state_.reports.choose(filter_);
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
    const std::vector<std::string> found = problems();
    for (const std::string& problem : found) coloured_text(problem, state_.colours->failed);
    if (has_content(state_)) {
        draw_head();
    } else if (found.empty()) {
        text("waiting for " + state_.run);
    }
    draw_tabs(state_);
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
            if (Status s = run.status(); !s.ok()) return s;
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
