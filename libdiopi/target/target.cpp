#include "target/target.hpp"

#include <fmt/format.h>

#include "intercept/adaptor/adaptor_config.hpp"
#include "intercept/sim_config.hpp"

namespace diopi {

namespace {

/// The backend of any name but "sim".
Result<CheckedBackend> open_backend(const std::string& impl, const TargetOptions& options,
                                    const LibraryOptions& library, const MemoryCheckOptions& check) {
    if (!options.sim_config.empty() || options.waits) {
        return bad_input("--sim-config and --wait describe the device of --impl sim");
    }
    auto found = CheckedBackend::find(impl, library, check);
    if (!found.ok() && !is_library_path(impl) && !find_backend(impl).ok()) {
        return Error{found.error().code, found.error().message + ", and sim"};
    }
    return found;
}

}  // namespace

Result<Target> Target::find(const std::string& impl, const TargetOptions& options, const LibraryOptions& library,
                            const MemoryCheckOptions& check) {
    Target target;
    if (impl == "sim") {
        if (Status s = target.open_sim(options, library); !s.ok()) return s.error();
    } else {
        auto found = open_backend(impl, options, library, check);
        if (!found.ok()) return found.error();
        target.checked_.emplace(std::move(*found));
    }
    if (options.adaptor.empty()) return target;
    if (Status s = target.make_adaptor(options.adaptor); !s.ok()) return s.error();
    return target;
}

Status Target::open_sim(const TargetOptions& options, const LibraryOptions& library) {
    SimOptions device;
    if (!options.sim_config.empty()) {
        auto read = read_sim_config(options.sim_config);
        if (!read.ok()) return read.error();
        device = std::move(*read);
    }
    device.model.waits = options.waits;
    sim_ = std::make_unique<SimBackend>(std::move(device));
    if (!library.on_note) return {};
    for (const std::string& name : sim_->unknown_names()) {
        library.on_note(fmt::format("{}: '{}' matches no function of the standard", options.sim_config, name));
    }
    return {};
}

Status Target::make_adaptor(const std::string& config) {
    auto read = read_adaptor_config(config);
    if (!read.ok()) return bad_input("--adaptor: " + read.error().message);
    auto totals = AdaptorTotals::create();
    if (!totals.ok()) return totals.error();
    totals_ = std::make_unique<AdaptorTotals>(std::move(*totals));
    adaptor_ = std::make_unique<Adaptor>(std::move(read->rules), sim_.get());
    adaptor_->count_in(totals_.get());
    return {};
}

AdaptedFunctions Target::adapted() const {
    AdaptedFunctions functions;
    if (totals_ == nullptr) return functions;
    for (const AdaptedFunction& counted : totals_->functions()) {
        functions[std::string(counted.row->function)] =
            to_record(counted.calls, counted.in, counted.out, counted.casts);
    }
    return functions;
}

}  // namespace diopi
