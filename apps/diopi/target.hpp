/// What --impl names: a backend that is linked in, or the simulated device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "intercept/sim_backend.hpp"
#include "memory_check.hpp"
#include "options.hpp"

namespace diopi {

struct SimFlags {
    std::string config;  ///< --sim-config
    bool waits = false;  ///< --wait
};

/// Adds the flags that describe the simulated device.
void add_sim_options(CLI::App& command, SimFlags& flags);

class Target {
 public:
    /// "sim", or as CheckedBackend::find.
    [[nodiscard]] static Result<Target> find(const std::string& impl, const SimFlags& flags,
                                             const LibraryFlags& library);

    [[nodiscard]] const Backend& backend() const { return sim_ == nullptr ? **checked_ : sim_->backend(); }
    /// As CheckedBackend::leaks.
    [[nodiscard]] std::string leaks(std::string_view where) { return checked_ ? checked_->leaks(where) : ""; }
    /// Null unless it is the simulated device. It goes innermost into every chain to its backend.
    [[nodiscard]] SimBackend* sim() const { return sim_.get(); }

 private:
    std::unique_ptr<SimBackend> sim_;
    std::optional<CheckedBackend> checked_;
};

}  // namespace diopi
