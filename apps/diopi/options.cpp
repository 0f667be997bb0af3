#include "options.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "conformance/cost.hpp"
#include "core/suggest.hpp"
#include "journal/kept_report.hpp"
#include "report/error_report.hpp"
#include "report/table.hpp"
#include "runtime/machine_text.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFolder = "folder of the run's results";

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

/// A hint for a word that is an operator: an option with several values has taken it for one of them. Empty for others.
std::string hint_of_operator(const std::string& word) {
    return is_operator(word) ? "; write operators before the options, or behind --fname" : "";
}

Result<std::vector<Dtype>> parse_dtypes(const std::vector<std::string>& words) {
    auto list = NameChoice::parse(words);
    if (!list.ok()) return list.error();
    std::vector<Dtype> dtypes;
    for (const std::string& text : list->items()) {
        if (const auto dtype = dtype_of_word(text)) {
            dtypes.push_back(*dtype);
            continue;
        }
        std::vector<std::string> known;
        for (const Dtype dtype : all_dtypes()) known.emplace_back(name(dtype));
        return bad_input("there is no dtype '" + text + "'" + did_you_mean(text, known) + hint_of_operator(text));
    }
    return dtypes;
}

}  // namespace

Status keep_report_of(const CommonOptions& options, const std::string& kind, const std::string& json) {
    return keep_report(options.run_folder, {kind, options.command, "", machine_text(), nullptr}, json);
}

void add_operator_options(CLI::App& command, CommonOptions& options) {
    command.add_option("--fname", options.fname, "operators: names, commas, globs such as 'conv*' (default all)")
        ->type_name("NAME ...");
    command.add_option("operator", options.operators, "operators, as --fname");
}

Result<NameChoice> operators_of(const CommonOptions& options) {
    std::vector<std::string> words = options.operators;
    words.insert(words.end(), options.fname.begin(), options.fname.end());
    auto list = NameChoice::parse(words);
    return list.ok() ? list : Result<NameChoice>(bad_input("the operators (--fname): " + list.error().message));
}

void add_common_options(CLI::App& command, CommonOptions& options) {
    command
        .add_option("--impl", options.impl,
                    "operator library: cpu, cuda, cuda+tf32, reference, or a path (docs/plugins.md)")
        ->capture_default_str();
    add_library_options(command, options.loading);
    add_operator_options(command, options);
    command.add_option("--model", options.model, "the cases of a model, such as resnet50 (gen --list-models)")
        ->check(not_empty());
    command.add_option("--case", options.case_ids, "cases by id, such as ops/pointwise_binary.add.17, or by glob")
        ->type_name("ID ...");
    command
        .add_option("-k", options.expression, "cases by words: 'conv2d and not (bfloat16 or strided)' (docs/test.md)")
        ->type_name("EXPRESSION")
        ->check(not_empty());
    command.add_option("--filter-dtype", options.filter_dtype, "skip the cases that use one of these dtypes")
        ->type_name("DTYPE ...");
    command.add_option("--only-dtype", options.only_dtype, "skip the cases that use none of these dtypes")
        ->type_name("DTYPE ...");
    command.add_option("--cases", options.case_files, "more case files (docs/cases.md)");
    command.add_option("--cases-dir", options.cases_folder, "folder of the case files");
    command.add_option("--data", options.data, "folder of baselines")->check(no_file())->capture_default_str();
    command.add_option("--run", options.run_folder, kRunFolder)->capture_default_str();
    command.add_option("--seed", options.seed, "seed of every random number")->capture_default_str();
    command.add_option("-j,--jobs", options.jobs, "worker processes; 0: one per processor")->check(CLI::Range(0, 1024));
    command.add_flag("--json", options.json, "print JSON on stdout, nothing else");
    command.add_flag("-q,--quiet", options.quiet, "print only failures and the summary");
    command.add_option("--debug-level", options.debug_level, "0, 1 or 2: amount of output")->check(CLI::Range(0, 2));
}

void add_replay_options(CLI::App& command, CommonOptions& options) {
    command.add_option("--impl", options.impl, "operator library: sim, cpu, cuda, reference, or a path")
        ->capture_default_str();
    add_library_options(command, options.loading);
    command.add_option("--model", options.model, "a capture that comes with the program, such as resnet18")
        ->check(not_empty());
    command.add_option("--cases-dir", options.cases_folder, "folder of the case files");
    command.add_option("--run", options.run_folder, kRunFolder)->capture_default_str();
    command.add_option("--seed", options.seed, "seed of every random number")->capture_default_str();
    command.add_flag("--json", options.json, "print JSON on stdout, nothing else");
    command.add_flag("-q,--quiet", options.quiet, "print only the outcome");
}

void add_form_options(CLI::App& command, std::string& format, int64_t& durations) {
    command.add_option("--format", format, "table, or seed: the lines and the report that the standard's users know")
        ->check(CLI::IsMember({"table", "seed"}))
        ->capture_default_str();
    command.add_option("--durations", durations, "list the N cases that took longest")
        ->type_name("N")
        ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
}

std::string cases_folder(const CommonOptions& options) {
    if (!options.cases_folder.empty()) return options.cases_folder;
    const std::vector<std::string> folders = candidate_folders();
    const auto found = std::ranges::find_if(folders, [](const std::string& f) { return fs::is_directory(f); });
    return found == folders.end() ? folders.back() : *found;
}

bool selects_cases(const CommonOptions& options) {
    return !options.fname.empty() || !options.operators.empty() || !options.case_ids.empty() ||
           !options.expression.empty();
}

Result<CaseChoice> choice_of(const CommonOptions& options) {
    for (const std::string& file : options.case_files) {
        const std::string hint = fs::exists(file) ? "" : hint_of_operator(file);
        if (!hint.empty()) return bad_input("--cases: there is no case file " + file + hint);
    }
    CaseChoice choice{cases_folder(options), options.case_files, options.model, {}, {}, {}};
    auto ops = operators_of(options);
    if (!ops.ok()) return ops.error();
    choice.ops = std::move(*ops);
    auto ids = NameChoice::parse(options.case_ids);
    if (!ids.ok()) return bad_input("--case: " + ids.error().message);
    choice.ids = std::move(*ids);
    if (options.expression.empty()) return choice;
    auto expression = CaseExpression::parse(options.expression);
    if (!expression.ok()) return bad_input("-k " + expression.error().message);
    choice.expression = std::move(*expression);
    return choice;
}

std::optional<std::string> DtypeChoice::skip_reason(const Case& c) const {
    const auto uses = [&](Dtype dtype) { return c.uses(dtype); };
    const auto found = std::ranges::find_if(filtered, uses);
    if (found != filtered.end()) return fmt::format("uses {} (--filter-dtype)", name(*found));
    if (only.empty() || std::ranges::any_of(only, uses)) return std::nullopt;
    std::vector<std::string_view> names;
    for (const Dtype dtype : only) names.push_back(name(dtype));
    return fmt::format("does not use {} (--only-dtype)", fmt::join(names, " or "));
}

Result<DtypeChoice> dtypes_of(const CommonOptions& options) {
    auto filtered = parse_dtypes(options.filter_dtype);
    if (!filtered.ok()) return bad_input("--filter-dtype: " + filtered.error().message);
    auto only = parse_dtypes(options.only_dtype);
    if (!only.ok()) return bad_input("--only-dtype: " + only.error().message);
    return DtypeChoice{std::move(*filtered), std::move(*only)};
}

void announce_all(const CommonOptions& options, std::string_view what, const std::vector<Case>& cases,
                  const Backend& backend, int jobs) {
    if (selects_cases(options) || !options.model.empty() || !options.case_files.empty()) return;
    std::set<std::string_view> operators;
    double seconds = 0;
    for (const Case& c : cases) {
        operators.insert(c.op);
        seconds += static_cast<double>(cost_of(c, backend)) * 1e-9 / std::max(jobs, 1);
    }
    fmt::print(stderr, "diopi: {} {} of {}, in about {:.0f} min; name operators for fewer\n", what,
               counted(static_cast<int64_t>(cases.size()), "case"),
               counted(static_cast<int64_t>(operators.size()), "operator"), std::ceil(seconds / 60));
}

void add_implemented_option(CLI::App& command, CommonOptions& options) {
    command.add_flag("--implemented", options.only_implemented,
                     "leave out the operators that the library does not have");
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
