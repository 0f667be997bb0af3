/// diopi: gen, test, compare, profile, fallback-sim, report.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "commands.hpp"
#include "core/suggest.hpp"
#include "help_format.hpp"
#include "options.hpp"
#include "validators.hpp"

namespace {

using diopi::Exit;

/// The workers of `test` share the processors: a thread of OpenMP that waits must not use one that another worker
/// needs. OpenMP reads how to wait when a program starts, and workers are forks of this process, so it starts itself
/// again with that variable, unless the user has set one. Where it cannot, it goes on, only slower.
void start_with_passive_waits(int argc, char** argv) {
    constexpr const char* kPolicy = "OMP_WAIT_POLICY";
    if (argc < 2 || std::string_view(argv[1]) != "test") return;
    if (std::getenv(kPolicy) != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
    std::error_code unreadable;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unreadable);
    if (unreadable || setenv(kPolicy, "passive", 0) != 0) return;
    execv(program.c_str(), argv);
    unsetenv(kPolicy);
}

/// CLI11 names the unknown word; this adds the one that was probably meant.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string> known;
    const CLI::App* scope = &app;
    for (const CLI::App* sub : app.get_subcommands({})) {
        known.push_back(sub->get_name());
        if (argc > 1 && sub->get_name() == argv[1]) scope = sub;
    }
    if (scope == &app) return argc > 1 ? diopi::did_you_mean(argv[1], known) : "";
    known.clear();
    for (const CLI::Option* option : scope->get_options()) known.push_back("--" + option->get_single_name());
    for (int i = 2; i < argc; ++i) {
        const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
        const bool is_flag = word.starts_with("--");
        if (is_flag && std::find(known.begin(), known.end(), word) == known.end()) {
            return diopi::did_you_mean(word, known);
        }
    }
    return "";
}

/// CLI11's error, except for a word that is not a subcommand: there CLI11 only reports that the subcommand is missing.
std::string message_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return error.what();
    const std::string word = argv[1];
    for (const CLI::App* known : app.get_subcommands({})) {
        if (known->get_name() == word) return error.what();
    }
    return "there is no subcommand '" + word + "'";
}

int run(int argc, char** argv) {
    CLI::App app("diopi: is my operator right, is it fast, and which operator is to blame?");
    app.name("diopi");
    app.set_version_flag("--version", diopi::version_text);
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 all passed, 1 failures found, 2 bad input or usage,\n"
        "3 internal error, 130 interrupted.\n"
        "diopi COMMAND --help prints more, with examples.");
    int code = 0;
    const diopi::CommandLine line(argv, argv + argc);
    diopi::add_gen_command(app, code);
    diopi::add_test_command(app, code, line);
    diopi::add_compare_command(app, code, line);
    diopi::add_profile_command(app, code, line);
    diopi::add_fallback_sim_command(app, code, line);
    diopi::add_report_command(app, code);
    diopi::add_list_command(app, code);
    diopi::add_about_commands(app, code);
    diopi::read_numbers_strictly(app);
    diopi::set_help_format(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        std::fprintf(stderr, "diopi: error: %s%s\nRun diopi --help or diopi COMMAND --help.\n",
                     message_of(e, app, argc, argv).c_str(), suggestion(app, argc, argv).c_str());
        return static_cast<int>(Exit::kBadInput);
    }
    return code;
}

}  // namespace

/// Checks that the output was written: a full disk behind a redirection is an error, too.
int flushed(int code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fprintf(stderr, "diopi: error: cannot write the output: %s\n", std::strerror(errno));
    return static_cast<int>(Exit::kBadInput);
}

int main(int argc, char** argv) {
    // A write past the limit of file sizes (ulimit -f) then gives an error with a message.
    std::signal(SIGXFSZ, SIG_IGN);
    start_with_passive_waits(argc, argv);
    try {
        return flushed(run(argc, argv));
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "diopi: error: out of memory; try --jobs 1 or fewer cases\n");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "diopi: internal error: %s\n", e.what());
    }
    return static_cast<int>(Exit::kInternal);
}
