#include "shell_completion.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/suggest.hpp"
#include "help_format.hpp"

namespace diopi {

namespace {

/// Where the values of an option come from: a list of `diopi list`, or words.
struct ValuesOf {
    std::string_view list;   ///< "operators"; empty: `words`
    std::string words = {};  ///< separated by blanks; both empty: files
};

/// The lists that complete an option, by its long name or that of a positional.
struct NamedValues {
    std::string_view option, list;
};
constexpr std::array kNamedValues = {
    NamedValues{"operator", "operators"}, NamedValues{"fname", "operators"}, NamedValues{"model", "models"},
    NamedValues{"case", "cases"},         NamedValues{"in-order", "cases"},  NamedValues{"capture", "captures"},
    NamedValues{"with", "captures"},      NamedValues{"impl", "backends"},   NamedValues{"against", "backends"},
    NamedValues{"to", "backends"},        NamedValues{"adaptor", "presets"},
};
constexpr std::array kDtypeOptions = {"filter-dtype", "only-dtype", "dtype", "against-dtype"};

std::string dtype_words() {
    std::string words;
    for (const Dtype dtype : all_dtypes()) words += (words.empty() ? "" : " ") + std::string(name(dtype));
    return words;
}

/// "hot cold" of "TEXT:{hot,cold}".
std::string choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const size_t open = type.find('{');
    if (open == std::string::npos || type.back() != '}') return "";
    std::string words = type.substr(open + 1, type.size() - open - 2);
    std::ranges::replace(words, ',', ' ');
    return words;
}

ValuesOf values_of(const CLI::Option& option) {
    const std::string key = option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
    const auto named = std::ranges::find(kNamedValues, key, &NamedValues::option);
    if (named != kNamedValues.end()) return {named->list};
    if (std::ranges::find(kDtypeOptions, key) != kDtypeOptions.end()) return {"", dtype_words()};
    return {"", choices_of(option)};
}

/// The commands under `app`, with the words that call each: {"report", "merge"}.
void collect(const CLI::App& app, const std::string& words, std::vector<std::pair<std::string, const CLI::App*>>& all) {
    for (const CLI::App* each : app.get_subcommands({})) {
        const std::string name = words.empty() ? each->get_name() : words + " " + each->get_name();
        all.emplace_back(name, each);
        collect(*each, name, all);
    }
}

std::vector<std::string> flags_of(const CLI::Option& option) {
    std::vector<std::string> flags;
    for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
    return flags;
}

std::string subcommands_of(const CLI::App& app) {
    std::string words;
    for (const CLI::App* each : app.get_subcommands({})) words += (words.empty() ? "" : " ") + each->get_name();
    return words;
}

/// The shell command that prints the candidates for "$cur".
std::string bash_candidates(const ValuesOf& values) {
    if (values.list == "cases")
        return R"sh(COMPREPLY=( $(compgen -W "$(diopi list cases -q "$cur*" 2>/dev/null)" -- "$cur") ))sh";
    if (!values.list.empty()) {
        return fmt::format(
            R"sh(COMPREPLY=( $(compgen -W "$(diopi list {} -q 2>/dev/null)" -- "$cur") $(compgen -f -- "$cur") ))sh",
            values.list);
    }
    if (!values.words.empty()) return fmt::format(R"sh(COMPREPLY=( $(compgen -W "{}" -- "$cur") ))sh", values.words);
    return R"sh(COMPREPLY=( $(compgen -f -- "$cur") ))sh";
}

/// The branch of a command: values behind an option, options, operators.
std::string bash_branch(const std::string& words, const CLI::App& command) {
    std::string values, flags = subcommands_of(command), positional = "COMPREPLY=()";
    for (const CLI::Option* option : command.get_options()) {
        if (!option->nonpositional()) {
            positional = bash_candidates(values_of(*option));
            continue;
        }
        const std::vector<std::string> names = flags_of(*option);
        for (const std::string& name : names) flags += (flags.empty() ? "" : " ") + name;
        if (option->get_type_size() == 0) continue;
        values += fmt::format("                {}) {}; return ;;\n", fmt::join(names, "|"),
                              bash_candidates(values_of(*option)));
    }
    if (!subcommands_of(command).empty()) {
        positional = fmt::format(R"sh(COMPREPLY=( $(compgen -W "{}" -- "$cur") ))sh", subcommands_of(command));
    }
    return fmt::format(
        "        \"{}\")\n"
        "            case $option in\n"
        "{}"
        "            esac\n"
        "            if [[ $cur == -* ]]; then COMPREPLY=( $(compgen -W \"{}\" -- \"$cur\") ); else {}; fi ;;\n",
        words, values, flags, positional);
}

/// COMP_WORDBREAKS splits at ':' and '='; neither is in a name that is completed here.
std::string bash_script(const CLI::App& app) {
    std::vector<std::pair<std::string, const CLI::App*>> commands;
    collect(app, "", commands);
    std::string nested = "|", branches = bash_branch("", app);
    for (const auto& [words, command] : commands) {
        nested += words + "|";
        branches += bash_branch(words, *command);
    }
    return fmt::format(
        "# Completion of diopi for bash: source <(diopi completion bash)\n"
        "_diopi() {{\n"
        "    local cur=${{COMP_WORDS[COMP_CWORD]}} command='' option='' word i\n"
        "    local commands='{}'\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
        "        word=${{COMP_WORDS[i]}}\n"
        "        if [[ $word == -* ]]; then option=$word\n"
        "        elif [[ -z $option && $commands == *\"|${{command:+$command }}$word|\"* ]]; then "
        "command=${{command:+$command }}$word; fi\n"
        "    done\n"
        "    case $command in\n"
        "{}"
        "    esac\n"
        "}}\n"
        "complete -F _diopi diopi\n",
        nested, branches);
}

std::string quoted(std::string text) {
    std::string safe;
    for (const char c : text) safe += c == '\'' ? std::string("\\'") : std::string(1, c);
    return "'" + safe + "'";
}

std::string fish_values(const ValuesOf& values) {
    if (values.list == "cases") return " -xa '(diopi list cases -q (commandline -ct)\"*\" 2>/dev/null)'";
    if (!values.list.empty()) return fmt::format(" -ra '(diopi list {} -q 2>/dev/null)'", values.list);
    return values.words.empty() ? " -rF" : fmt::format(" -xa '{}'", values.words);
}

std::string fish_script(const CLI::App& app) {
    std::string text = "# Completion of diopi for fish\ncomplete -c diopi -f\n";
    for (const CLI::App* command : app.get_subcommands({})) {
        text += fmt::format("complete -c diopi -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                            quoted(command->get_description()));
        const std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", command->get_name());
        for (const CLI::Option* option : command->get_options()) {
            if (!option->nonpositional()) {
                const ValuesOf values = values_of(*option);
                if (!values.list.empty()) {
                    text += fmt::format("complete -c diopi {} -a '(diopi list {} -q 2>/dev/null)'\n", condition,
                                        values.list);
                }
                continue;
            }
            text += fmt::format("complete -c diopi {}", condition);
            for (const std::string& name : option->get_snames()) text += " -s " + name;
            for (const std::string& name : option->get_lnames()) text += " -l " + name;
            if (option->get_type_size() != 0) text += fish_values(values_of(*option));
            text += fmt::format(" -d {}\n", quoted(option->get_description()));
        }
    }
    return text;
}

/// Text of a manual page: a leading dot or quote is no request there, a backslash and a dash are themselves.
std::string roff(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        if (c == '\\')
            safe += "\\e";
        else if (c == '-')
            safe += "\\-";
        else
            safe += c;
    }
    return !safe.empty() && (safe.front() == '.' || safe.front() == '\'') ? "\\&" + safe : safe;
}

std::string roff_options(const CLI::App& command) {
    std::string text;
    for (const HelpRow& row : help_rows(command)) {
        text += fmt::format(".TP\n.B {}\n{}\n", roff(row.title), roff(row.text));
    }
    return text;
}

std::string man_page(const CLI::App& app) {
    std::string text = fmt::format(
        ".TH DIOPI 1\n.SH NAME\ndiopi \\- {}\n.SH SYNOPSIS\n.B diopi\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
        roff(app.get_description()));
    std::vector<std::pair<std::string, const CLI::App*>> commands;
    collect(app, "", commands);
    for (const auto& [words, command] : commands) {
        text += fmt::format(".TP\n.B {}\n{}\n", roff(words), roff(command->get_description()));
    }
    for (const auto& [words, command] : commands) {
        text +=
            fmt::format(".SH DIOPI {}\n{}\n{}", roff(words), roff(command->get_description()), roff_options(*command));
        if (!command->get_footer().empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
    }
    return text + fmt::format(".SH EXIT STATUS\n{}\n", roff(app.get_footer()));
}

}  // namespace

Result<std::string> completion_script(const std::string& shell, const CLI::App& app) {
    if (shell == "bash") return bash_script(app);
    if (shell == "zsh") {
        return "#compdef diopi\n# zsh runs the script for bash.\nautoload -U +X bashcompinit && bashcompinit\n" +
               bash_script(app);
    }
    if (shell == "fish") return fish_script(app);
    if (shell == "man") return man_page(app);
    const std::vector<std::string> known = {"bash", "zsh", "fish", "man"};
    return bad_input("there is no completion for '" + shell + "'" + did_you_mean(shell, known) +
                     "; there are: bash, zsh, fish, man");
}

}  // namespace diopi
