/// diopi help, version, completion: what the program says about itself.
#include <H5public.h>
#include <fmt/format.h>
#include <hwy/highway.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>

#include "commands.hpp"
#include "core/suggest.hpp"
#include "help_format.hpp"
#include "options.hpp"
#include "shell_completion.hpp"

namespace diopi {

namespace {

/// The version of the standard.
constexpr const char* kAbiVersion = "1.0.0";

std::string compiler_text() {
#if defined(__clang__)
    return fmt::format("clang {}", __clang_version__);
#else
    return fmt::format("gcc {}", __VERSION__);
#endif
}

std::string hdf5_text() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

std::string onednn_text() {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

/// The instruction sets that this processor has, of those that the kernels are compiled for.
std::string vectors_text() {
    std::string text;
    const int64_t there = hwy::SupportedTargets();
    for (int64_t target = 1; target <= there && target > 0; target <<= 1) {
        if ((there & target) != 0) text += (text.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
    }
    return text;
}

/// The subcommand that the words name, from `app` on.
Result<const CLI::App*> find_command(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* found = &app;
    for (const std::string& word : words) {
        std::vector<std::string> known;
        const CLI::App* next = nullptr;
        for (const CLI::App* each : found->get_subcommands({})) {
            known.push_back(each->get_name());
            if (each->get_name() == word) next = each;
        }
        if (next == nullptr) return bad_input("there is no command '" + word + "'" + did_you_mean(word, known));
        found = next;
    }
    return found;
}

void add_help_command(CLI::App& app, int& code) {
    auto words = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("help", "print what a command does, as COMMAND --help");
    command->add_option("command", *words, "the command, such as test, or report merge");
    command->callback([words, &app, &code] {
        const auto found = find_command(app, *words);
        if (!found.ok()) {
            code = report_error(found.error());
            return;
        }
        fmt::print("{}", help_of(**found));
    });
}

void add_version_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand("version", "print the version and the libraries of this build");
    command->callback([] { fmt::print("{}\n", version_text()); });
}

void add_completion_command(CLI::App& app, int& code) {
    auto shell = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("completion", "print a script that completes commands in a shell");
    command->add_option("shell", *shell, "bash, zsh, fish; or man for a manual page")->required();
    command->footer(
        "Examples:\n"
        "  source <(diopi completion bash)\n"
        "  diopi completion fish > ~/.config/fish/completions/diopi.fish\n");
    command->callback([shell, &app, &code] {
        const auto script = completion_script(*shell, app);
        if (script.ok())
            fmt::print("{}", *script);
        else
            code = report_error(script.error());
    });
}

}  // namespace

std::string version_text() {
    return fmt::format(
        "diopi {} (DIOPI ABI {})\n"
        "compiler: {}, {}\n"
        "sources of: {}\n"
        "libraries: {}, {}, fmt {}.{}.{}, CLI11 {}, JSON {}.{}.{}, Highway {}.{}.{}\n"
        "cuda: {}\n"
        "vectors: {}",
        DIOPI_PROGRAM_VERSION, kAbiVersion, compiler_text(), DIOPI_BUILD_TYPE, DIOPI_SOURCE_DATE, hdf5_text(),
        onednn_text(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, CLI11_VERSION,
        NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, HWY_MAJOR, HWY_MINOR,
        HWY_PATCH, DIOPI_CUDA_BUILD, vectors_text());
}

void add_about_commands(CLI::App& app, int& code) {
    add_help_command(app, code);
    add_version_command(app);
    add_completion_command(app, code);
}

}  // namespace diopi
