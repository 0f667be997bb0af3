#include "target.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "run/sim_config.hpp"

namespace diopi {

void add_sim_options(CLI::App& command, SimFlags& flags) {
    command.add_option("--sim-config", flags.config, "JSON file that describes the device of --impl sim");
    command.add_flag("--wait", flags.waits, "--impl sim really waits for what it costs");
}

Result<Target> Target::find(const std::string& impl, const SimFlags& flags, const LibraryFlags& library) {
    Target target;
    if (impl != "sim") {
        if (!flags.config.empty() || flags.waits) {
            return bad_input("--sim-config and --wait describe the device of --impl sim");
        }
        auto found = CheckedBackend::find(impl, library);
        if (!found.ok() && !is_library_path(impl) && !find_backend(impl).ok()) {
            return Error{found.error().code, found.error().message + ", and sim"};
        }
        if (!found.ok()) return found.error();
        target.checked_.emplace(std::move(*found));
        return target;
    }
    SimOptions options;
    if (!flags.config.empty()) {
        auto read = read_sim_config(flags.config);
        if (!read.ok()) return read.error();
        options = std::move(*read);
    }
    options.model.waits = flags.waits;
    target.sim_ = std::make_unique<SimBackend>(std::move(options));
    for (const std::string& name : target.sim_->unknown_names()) {
        fmt::print(stderr, "diopi: {}: '{}' matches no function of the standard\n", flags.config, name);
    }
    return target;
}

}  // namespace diopi
