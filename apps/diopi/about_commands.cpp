/// diopi help, version, completion: what the program says about itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "core/suggest.hpp"
#include "help_format.hpp"
#include "options.hpp"
#include "shell_completion.hpp"

namespace diopi {

namespace {

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

void add_about_commands(CLI::App& app, int& code) {
    add_help_command(app, code);
    add_version_command(app);
    add_completion_command(app, code);
}

}  // namespace diopi
