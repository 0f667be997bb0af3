#include "target.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "intercept/adaptor/adaptor_config.hpp"
#include "intercept/sim_config.hpp"
#include "report/error_report.hpp"

namespace diopi {

void add_target_options(CLI::App& command, TargetFlags& flags) {
    command.add_option("--sim-config", flags.sim_config, "JSON file that describes the device of --impl sim");
    command.add_flag("--wait", flags.waits, "--impl sim really waits for what it costs");
    command
        .add_option("--adaptor", flags.adaptor,
                    "convert what the device does not take: a JSON file or a preset (docs/adaptor.md)")
        ->type_name("FILE");
}

std::string repeat_target_options(const TargetFlags& flags) {
    std::string text;
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (!flags.sim_config.empty()) append("--sim-config " + shell_quoted(flags.sim_config));
    if (flags.waits) append("--wait");
    if (!flags.adaptor.empty()) append("--adaptor " + shell_quoted(flags.adaptor));
    return text;
}

void print_adapted(const AdaptedFunctions& functions) {
    if (functions.empty()) return;
    fmt::print("\n");
    adaptor_table(functions).print(stdout);
    fmt::print("{}\n", adaptor_line(functions));
}

void print_adapted(const AdaptedFunctions& functions) {
    if (!functions.empty()) fmt::print(stderr, "diopi: adaptor: {}\n", adaptor_line(functions));
}

Result<Target> Target::find(const std::string& impl, const TargetFlags& flags, const LibraryFlags& library) {
    Target target;
    if (Status s = target.open_backend(impl, flags, library); !s.ok()) return s.error();
    if (flags.adaptor.empty()) return target;
    if (Status s = target.make_adaptor(flags.adaptor); !s.ok()) return s.error();
    return target;
}

Status Target::open_backend(const std::string& impl, const TargetFlags& flags, const LibraryFlags& library) {
    if (impl != "sim") {
        if (!flags.sim_config.empty() || flags.waits) {
            return bad_input("--sim-config and --wait describe the device of --impl sim");
        }
        auto found = CheckedBackend::find(impl, library);
        if (!found.ok() && !is_library_path(impl) && !find_backend(impl).ok()) {
            return Error{found.error().code, found.error().message + ", and sim"};
        }
        if (!found.ok()) return found.error();
        checked_.emplace(std::move(*found));
        return {};
    }
    SimOptions options;
    if (!flags.sim_config.empty()) {
        auto read = read_sim_config(flags.sim_config);
        if (!read.ok()) return read.error();
        options = std::move(*read);
    }
    options.model.waits = flags.waits;
    sim_ = std::make_unique<SimBackend>(std::move(options));
    for (const std::string& name : sim_->unknown_names()) {
        fmt::print(stderr, "diopi: {}: '{}' matches no function of the standard\n", flags.sim_config, name);
    }
    return {};
}

Status Target::make_adaptor(const std::string& config) {
    auto read = read_adaptor_config(config);
    if (!read.ok()) return bad_input("--adaptor: " + read.error().message);
    auto tally = AdaptorTally::create();
    if (!tally.ok()) return tally.error();
    tally_ = std::make_unique<AdaptorTally>(std::move(*tally));
    adaptor_ = std::make_unique<Adaptor>(std::move(read->rules), sim_.get());
    adaptor_->count_in(tally_.get());
    return {};
}

AdaptedFunctions Target::adapted() const {
    AdaptedFunctions functions;
    if (tally_ == nullptr) return functions;
    for (const AdaptedFunction& counted : tally_->functions()) {
        functions[std::string(counted.row->function)] =
            to_record(counted.calls, counted.in, counted.out, counted.casts);
    }
    return functions;
}

}  // namespace diopi
