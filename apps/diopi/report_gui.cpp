#include "report_gui.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "gui/gui.hpp"
#include "journal/journal.hpp"
#include "journal/kept_report.hpp"

namespace diopi {

namespace {

/// The window's library is in the folder of the libraries, of a build or an installation.
std::string window_library() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    for (const char* folder : {"lib", DIOPI_INSTALLED_LIBRARIES}) {
        const auto path = program.parent_path().parent_path() / folder / "libdiopi_gui.so";
        if (std::filesystem::exists(path, error)) return path;
    }
    return "";
}

Error no_window() {
    return bad_input(
        "this build has no window: apt-get install libimgui-dev libglfw3-dev libgl-dev libpng-dev, and build with "
        "DIOPI_GUI=ON; --html FILE needs nothing");
}

/// The path of a journal, or that in its folder, which need not be there yet. Bad input for a folder of shards.
Result<std::string> journal_to_follow(const std::string& run) {
    if (run.ends_with(".jsonl")) return run;
    std::string path = journal_path(run);
    std::error_code error;
    if (std::filesystem::exists(path, error) || has_kept_report(run)) return path;
    for (const auto& entry : std::filesystem::directory_iterator(run, error)) {
        if (!std::filesystem::exists(journal_path(entry.path()), error)) continue;
        return bad_input(
            fmt::format("{} has the runs of shards: choose one, such as {}, or the folder into which diopi "
                        "report merge brings them",
                        run, entry.path().string()));
    }
    return path;
}

/// The files of a run: its journal and its kept reports, or the one that the place names.
Status choose_files(const std::string& place, WindowOptions& window) {
    window.place = place;
    if (names_kept_report(place)) {
        window.reports = place;
        return {};
    }
    if (!place.ends_with(".jsonl")) window.reports = place;
    auto journal = journal_to_follow(place);
    if (journal.ok()) window.journal = std::move(*journal);
    return journal.status();
}

Result<WindowOptions> window_options(const GuiOptions& options, const CommonOptions& common) {
    auto operators = operators_of(common);
    if (!operators.ok()) return operators.error();
    WindowOptions window;
    if (Status s = choose_files(common.run_folder, window); !s.ok()) return s.error();
    window.filter = fmt::format("{}", fmt::join(operators->items(), " "));
    window.bundle = options.bundle;
    if (!options.tab.empty()) {
        window.tab = static_cast<Tab>(std::ranges::find(kTabNames, options.tab) - kTabNames.begin());
    }
    window.is_dark = options.theme == "dark";
    window.screenshot = options.screenshot;
    return window;
}

Status open_window(const WindowOptions& options) {
    const std::string library = window_library();
    if (library.empty()) return no_window();
    void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return bad_input(fmt::format("cannot open the window's library: {}", ::dlerror()));
    const auto show = reinterpret_cast<decltype(&diopi_open_window)>(::dlsym(opened, "diopi_open_window"));
    if (show == nullptr) return bad_input(library + " is of another version of diopi");
    Status status;
    show(options, status);
    return status;
}

}  // namespace

void add_gui_options(CLI::App& command, GuiOptions& options) {
    CLI::Option* gui =
        command.add_flag("--gui", options.is_wanted, "show the run in a window, which follows it while it goes on");
    command.add_option("--bundle", options.bundle, "a replay bundle whose tensors the window shows")
        ->type_name("FILE")
        ->needs(gui);
    command.add_option("--gui-tab", options.tab, "the tab that is open first")
        ->check(CLI::IsMember(std::vector<std::string>(kTabNames.begin(), kTabNames.end())))
        ->needs(gui);
    command.add_option("--gui-theme", options.theme, "the window's colours")
        ->check(CLI::IsMember({"light", "dark"}))
        ->needs(gui);
    command
        .add_option("--gui-screenshot", options.screenshot,
                    "write the window's picture as PNG and close it; for documents and CI")
        ->type_name("FILE")
        ->needs(gui);
}

int show_gui(const GuiOptions& options, const CommonOptions& common) {
    Status status = check_output_file(options.screenshot);
    if (status.ok()) {
        const auto window = window_options(options, common);
        status = window.ok() ? open_window(*window) : window.status();
    }
    return status.ok() ? static_cast<int>(Exit::kPassed) : report_error(status.error());
}

}  // namespace diopi
