/// diopi list: operators, functions, models, captures, backends, presets, variants, cases.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>

#include "capture_source.hpp"
#include "commands.hpp"
#include "core/suggest.hpp"
#include "intercept/adaptor/adaptor_config.hpp"
#include "options.hpp"
#include "report/inventory.hpp"
#include "target/implementation.hpp"
#include "variant_options.hpp"

namespace diopi {

namespace {

struct ListOptions {
    CommonOptions common;
    std::string what;
    std::vector<std::string> names;
    bool missing = false, implemented = false;
};

Result<Listing> captures_listing(const Inquiry& inquiry) {
    CommonOptions options;
    options.cases_folder = inquiry.folder;
    Listing listing{{{"capture"}, {"calls", Align::kRight}, {"recorded by"}}, {}};
    for (const std::string& name : shipped_captures(options)) {
        if (!inquiry.names.matches(name)) continue;
        auto capture = read_capture(shipped_capture_path(name, options));
        if (!capture.ok()) return capture.error();
        listing.rows.push_back({name, std::to_string(capture->calls.size()), capture->generator});
    }
    return listing;
}

Result<Listing> presets_listing(const Inquiry& inquiry) {
    Listing listing{{{"preset"}, {"used as"}}, {}};
    for (const std::string& preset : adaptor_presets()) {
        if (inquiry.names.matches(preset)) listing.rows.push_back({preset, "--adaptor " + preset});
    }
    return listing;
}

/// The options of diopi test that vary its cases.
Result<Listing> variants_listing(const Inquiry& inquiry) {
    CLI::App command;
    VariantFlags flags;
    add_variant_options(command, flags);
    Listing listing{{{"variant"}, {"what it does"}}, {}};
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_name() == "--help" || !inquiry.names.matches(option->get_single_name())) continue;
        listing.rows.push_back({"--" + option->get_single_name(), option->get_description()});
    }
    return listing;
}

struct ListKind {
    const char* name;
    Result<Listing> (*list)(const Inquiry& inquiry);
    bool is_of_library;  ///< --missing and --implemented mean something
    bool is_of_cases;    ///< it is read from the folder of case files
};
constexpr std::array kKinds = {
    ListKind{"operators", operators_listing, true, true}, ListKind{"functions", functions_listing, true, false},
    ListKind{"models", models_listing, false, true},      ListKind{"captures", captures_listing, false, true},
    ListKind{"backends", backends_listing, false, false}, ListKind{"presets", presets_listing, false, false},
    ListKind{"variants", variants_listing, false, false}, ListKind{"cases", cases_listing, true, true},
};

std::vector<std::string> names_of_kinds() {
    std::vector<std::string> names;
    for (const ListKind& kind : kKinds) names.emplace_back(kind.name);
    return names;
}

int run_list(const ListOptions& options) {
    const auto* kind = std::ranges::find_if(kKinds, [&](const ListKind& k) { return options.what == k.name; });
    if (kind == kKinds.end()) {
        const std::vector<std::string> known = names_of_kinds();
        return report_error(bad_input(fmt::format("there is no list of '{}'{}; there are: {}", options.what,
                                                  did_you_mean(options.what, known), fmt::join(known, ", "))));
    }
    if ((options.missing || options.implemented) && !kind->is_of_library) {
        return report_error(bad_input("--missing and --implemented are for operators, functions and cases"));
    }
    const std::string folder = cases_folder(options.common);
    if (Status s = kind->is_of_cases ? check_cases_folder(folder) : Status(); !s.ok()) return report_error(s.error());
    auto names = NameChoice::parse(options.names);
    if (!names.ok()) return report_error(names.error());
    auto impl = Implementation::find(options.common.impl, options.common.loading);
    if (!impl.ok()) return report_error(impl.error());
    auto listing = kind->list({folder, *names, libraries_with(&**impl), &**impl, options.missing, options.implemented});
    if (!listing.ok()) return report_error(listing.error());
    if (listing->rows.empty() && !names->empty() && !options.missing && !options.implemented) {
        return report_error(
            bad_input(fmt::format("none of the {} has such a name: {}", kind->name, fmt::join(options.names, " "))));
    }
    if (options.common.json)
        fmt::print("{}\n", listing_json(*listing));
    else
        fmt::print("{}", listing_text(*listing, options.common.quiet, screen_of(stdout)));
    return static_cast<int>(Exit::kPassed);
}

}  // namespace

void add_list_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ListOptions>();
    CLI::App* command = app.add_subcommand("list", "list operators, models, backends and other things by name");
    command->add_option("what", options->what, fmt::format("{}", fmt::join(names_of_kinds(), ", ")))->required();
    command->add_option("name", options->names, "names or globs, such as 'conv*' (default all)");
    command->add_option("--impl", options->common.impl, "a library that gets a column: a backend or a path")
        ->capture_default_str();
    add_library_options(*command, options->common.loading);
    command->add_flag("--implemented", options->implemented, "only what --impl has");
    command->add_flag("--missing", options->missing, "only what --impl lacks")
        ->excludes(command->get_option("--implemented"));
    command->add_option("--cases-dir", options->common.cases_folder, "folder of the case files");
    command->add_flag("--json", options->common.json, "print JSON on stdout, nothing else");
    command->add_flag("-q,--quiet", options->common.quiet, "print the names alone");
    command->footer(
        "Examples:\n"
        "  diopi list operators 'conv*'\n"
        "  diopi list functions --missing --impl ./libdiopi_impl.so\n"
        "  diopi list models --json\n");
    command->callback([options, &code] { code = run_list(*options); });
}

}  // namespace diopi
