/// Subcommands that do not exist yet: they say so, and what to use meanwhile.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "options.hpp"

namespace diopi {

namespace {

void add_planned(CLI::App& app, int& code, const char* name, const char* purpose, const char* meanwhile) {
    CLI::App* command = app.add_subcommand(name, std::string(purpose) + " (not implemented)");
    command->allow_extras();
    command->callback([&code, name, meanwhile] {
        fmt::print(stderr, "diopi: {} is not implemented in this version. {}\n", name, meanwhile);
        code = static_cast<int>(Exit::kBadInput);
    });
}

}  // namespace

void add_compare_command(CLI::App& app, int& code) {
    add_planned(app, code, "compare", "compare two operator libraries",
                "diopi test compares a library with the float64 reference.");
}

}  // namespace diopi
