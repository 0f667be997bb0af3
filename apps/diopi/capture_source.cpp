#include "capture_source.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "core/suggest.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

Result<std::string> path_of(const std::string& file, const CommonOptions& options) {
    const std::vector<std::string> known = shipped_captures(options);
    const std::string list = fmt::format("{}", fmt::join(known, ", "));
    const std::string& name = file.empty() ? options.model : file;
    if (name.empty()) return bad_input("nothing to run: give --capture FILE, or one of " + list);
    if (std::ranges::find(known, name) != known.end()) return shipped_capture_path(name, options);
    if (!file.empty()) {
        const std::string hint = fs::exists(file) ? "" : did_you_mean(file, known);
        return hint.empty() ? Result<std::string>(file) : bad_input("--capture: there is no file " + file + hint);
    }
    return bad_input(
        fmt::format("there is no capture of '{}'{}; there are: {}", name, did_you_mean(name, known), list));
}

}  // namespace

std::vector<std::string> shipped_captures(const CommonOptions& options) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cases_folder(options) + "/captures", error)) {
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    }
    std::ranges::sort(names);
    return names;
}

std::string shipped_capture_path(const std::string& name, const CommonOptions& options) {
    return fmt::format("{}/captures/{}.json", cases_folder(options), name);
}

CLI::Option* add_capture_option(CLI::App& command, std::string& file) {
    return command
        .add_option("--capture", file,
                    "the capture to replay: a file, or resnet18, resnet50, llama, bert, vit, decoder")
        ->type_name("FILE");
}

bool has_capture(const CommonOptions& options) {
    const std::vector<std::string> known = shipped_captures(options);
    return std::ranges::find(known, options.model) != known.end();
}

Result<std::unique_ptr<LoadedCapture>> load_capture(const std::string& file, const CommonOptions& options,
                                                    bool only_forward) {
    auto path = path_of(file, options);
    if (!path.ok()) return path.error();
    auto capture = read_capture(*path);
    if (!capture.ok()) return capture.error();
    if (only_forward) {
        const auto is_later = [](const CapturedCall& call) { return !call.phase.empty() && call.phase != "forward"; };
        capture->calls.erase(std::ranges::find_if(capture->calls, is_later), capture->calls.end());
    }
    auto loaded = std::make_unique<LoadedCapture>();
    loaded->path = std::move(*path);
    loaded->capture = std::move(*capture);
    auto values = CaptureValues::open(loaded->path, loaded->capture);
    if (!values.ok()) return values.error();
    loaded->values = std::move(*values);
    auto replay = CaptureReplay::create(loaded->capture, loaded->values, options.seed);
    if (!replay.ok()) return bad_input(loaded->path + ": " + replay.error().message);
    loaded->replay.emplace(std::move(*replay));
    return loaded;
}

}  // namespace diopi
