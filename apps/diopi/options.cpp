#include "options.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/suggest.hpp"
#include "report/error_report.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

/// Folders where the case files may be: beside an installed program, or in the source tree that it was built from.
std::vector<std::string> candidate_folders() {
    std::vector<std::string> folders;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) folders.push_back((program.parent_path().parent_path() / DIOPI_INSTALLED_CASES).string());
    folders.emplace_back(DIOPI_SOURCE_CASES);
    return folders;
}

/// An empty name, for example of an unset variable, must not select all.
CLI::Validator not_empty() {
    return {[](const std::string& text) { return text.empty() ? std::string("the name is empty") : std::string(); },
            ""};
}

/// Accepts a folder, or a name that is still free.
CLI::Validator no_file() {
    return {[](const std::string& path) {
                std::error_code error;
                if (!fs::exists(path, error) || fs::is_directory(path, error)) return std::string();
                return path + " is a file, and baselines are in a folder; choose another with --data";
            },
            ""};
}

}  // namespace

void add_common_options(CLI::App& command, CommonOptions& options) {
    const char* group = "Common options";
    command
        .add_option("--impl", options.impl,
                    "operator library: cpu, cuda, cuda+tf32, reference, or a path (docs/plugins.md)")
        ->group(group)
        ->capture_default_str();
    add_library_options(command, options.loading);
    command.add_option("--fname", options.fname, "one operator, such as add (default all)")
        ->group(group)
        ->check(not_empty());
    command.add_option("--model", options.model, "the cases of a model, such as resnet50 (gen --list-models)")
        ->group(group)
        ->check(not_empty());
    command.add_option("--case", options.case_id, "one case, such as ops/pointwise_binary.add.17")
        ->group(group)
        ->check(not_empty());
    command.add_option("--filter-dtype", options.filter_dtype, "skip the cases that use one of these dtypes")
        ->group(group);
    command.add_option("--cases", options.case_files, "more case files (docs/cases.md)")->group(group);
    command.add_option("--cases-dir", options.cases_folder, "folder of the case files")->group(group);
    command.add_option("--data", options.data, "folder of baselines")
        ->group(group)
        ->check(no_file())
        ->capture_default_str();
    command.add_option("--run", options.run_folder, "folder of the run's journal")->group(group)->capture_default_str();
    command.add_option("--seed", options.seed, "seed of every random number")->group(group)->capture_default_str();
    command.add_option("--jobs", options.jobs, "worker processes; 0: one per processor")
        ->group(group)
        ->check(CLI::Range(0, 1024));
    command.add_flag("--json", options.json, "print JSON on stdout, nothing else")->group(group);
    command.add_flag("--quiet", options.quiet, "print only failures and the summary")->group(group);
    command.add_option("--debug-level", options.debug_level, "0, 1 or 2: amount of output")
        ->group(group)
        ->check(CLI::Range(0, 2));
}

void add_replay_options(CLI::App& command, CommonOptions& options) {
    const char* group = "Common options";
    command.add_option("--impl", options.impl, "operator library: sim, cpu, cuda, reference, or a path")
        ->group(group)
        ->capture_default_str();
    add_library_options(command, options.loading);
    command.add_option("--model", options.model, "a capture that comes with the program, such as resnet18")
        ->group(group)
        ->check(not_empty());
    command.add_option("--cases-dir", options.cases_folder, "folder of the case files")->group(group);
    command.add_option("--seed", options.seed, "seed of every random number")->group(group)->capture_default_str();
    command.add_flag("--json", options.json, "print JSON on stdout, nothing else")->group(group);
    command.add_flag("--quiet", options.quiet, "print only the outcome")->group(group);
}

std::string cases_folder(const CommonOptions& options) {
    if (!options.cases_folder.empty()) return options.cases_folder;
    const std::vector<std::string> folders = candidate_folders();
    const auto found = std::ranges::find_if(folders, [](const std::string& f) { return fs::is_directory(f); });
    return found == folders.end() ? folders.back() : *found;
}

CaseChoice choice_of(const CommonOptions& options) {
    return {cases_folder(options), options.case_files, options.case_id, options.model, options.fname};
}

void add_implemented_option(CLI::App& command, CommonOptions& options) {
    command
        .add_flag("--implemented", options.only_implemented, "leave out the operators that the library does not have")
        ->group("Common options");
}

void keep_implemented(const CommonOptions& options, const Backend& backend, std::vector<Case>& cases) {
    if (!options.only_implemented) return;
    std::set<std::string> operators;
    for (const Case& c : cases) {
        if (!backend.implements(c.op)) operators.insert(c.op);
    }
    const auto left_out =
        static_cast<int64_t>(std::erase_if(cases, [&](const Case& c) { return operators.contains(c.op); }));
    if (left_out == 0) return;
    fmt::print(stderr, "diopi: --implemented leaves out {} of {}, which {} does not have\n", counted(left_out, "case"),
               counted(static_cast<int64_t>(operators.size()), "operator"), backend.name());
}

bool uses_any(const Case& c, const std::vector<Dtype>& dtypes) {
    return std::ranges::any_of(dtypes, [&](Dtype dtype) { return c.uses(dtype); });
}

Status check_output_file(const std::string& path) {
    if (fs::is_directory(path)) return bad_input(path + " is a folder; name a file");
    // The finished file replaces anything of that name.
    if (fs::exists(path) && !fs::is_regular_file(path)) return bad_input(path + " is a device or a pipe; name a file");
    const fs::path folder = fs::path(path).parent_path();
    std::error_code error;
    if (!folder.empty() && fs::status(folder, error).type() == fs::file_type::not_found) {
        fmt::print(stderr, "diopi: there is no folder {}; it will be made for {}\n", folder.string(), path);
    }
    return {};
}

Result<std::vector<Dtype>> parse_dtypes(const std::vector<std::string>& names) {
    std::vector<Dtype> dtypes;
    for (const std::string& text : names) {
        if (const auto dtype = parse_dtype(text)) {
            dtypes.push_back(*dtype);
            continue;
        }
        std::vector<std::string> known;
        for (const Dtype dtype : all_dtypes()) known.emplace_back(name(dtype));
        return bad_input("there is no dtype '" + text + "'" + did_you_mean(text, known));
    }
    return dtypes;
}

int worker_count(const CommonOptions& options) {
    if (options.jobs > 0) return options.jobs;
    return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string repeat_options(const CommonOptions& options) {
    std::string text;
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (options.impl != "cpu") append("--impl " + shell_quoted(options.impl));
    if (const std::string library = repeat_library_options(options.loading); !library.empty()) append(library);
    if (options.seed != 0) append(fmt::format("--seed {}", options.seed));
    if (options.data != CommonOptions().data) append("--data " + shell_quoted(options.data));
    if (!options.cases_folder.empty()) append("--cases-dir " + shell_quoted(options.cases_folder));
    for (const std::string& file : options.case_files) append("--cases " + shell_quoted(file));
    return text;
}

std::string repeat_timeout(double timeout_s) {
    return timeout_s == kCaseTimeout_s ? "" : fmt::format("--timeout {:g}", timeout_s);
}

int report_error(const Error& error) {
    fmt::print(stderr, "diopi: error: {}\n", error.message);
    switch (error.code) {
        case Errc::kBadInput:
            return static_cast<int>(Exit::kBadInput);
        case Errc::kNotImplemented:
            return static_cast<int>(Exit::kBadInput);
        case Errc::kFailed:
            return static_cast<int>(Exit::kBadInput);
        case Errc::kInternal:
            break;
    }
    return static_cast<int>(Exit::kInternal);
}

}  // namespace diopi
