/// What --impl names: a backend that is linked in, or the simulated device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "intercept/adaptor/adaptor.hpp"
#include "intercept/sim_backend.hpp"
#include "memory_check.hpp"
#include "options.hpp"
#include "report/adaptor_table.hpp"

namespace diopi {

struct TargetFlags {
    std::string sim_config;  ///< --sim-config
    bool waits = false;      ///< --wait
    std::string adaptor;     ///< --adaptor
};

/// Adds the flags that describe the simulated device, and what is converted for any device.
void add_target_options(CLI::App& command, TargetFlags& flags);

/// What must be appended to a command to have the same target.
[[nodiscard]] std::string repeat_target_options(const TargetFlags& flags);

/// The table of what an adaptor did, on stdout; nothing where it did nothing.
void print_adapted(const AdaptedFunctions& functions);
/// Its sum in one line on stderr, where stdout has another form than tables.
void print_adapted(const AdaptedFunctions& functions);

class Target {
 public:
    /// "sim", or as CheckedBackend::find.
    [[nodiscard]] static Result<Target> find(const std::string& impl, const TargetFlags& flags,
                                             const LibraryFlags& library);

    [[nodiscard]] const Backend& backend() const { return sim_ == nullptr ? **checked_ : sim_->backend(); }
    /// As CheckedBackend::leaks.
    [[nodiscard]] std::string leaks(std::string_view where) { return checked_ ? checked_->leaks(where) : ""; }
    /// Null unless it is the simulated device. It goes innermost into every chain to its backend.
    [[nodiscard]] SimBackend* sim() const { return sim_.get(); }
    /// Null without --adaptor. It goes into every chain to its backend, outside of all tools but a recorder.
    [[nodiscard]] Adaptor* adaptor() const { return adaptor_.get(); }
    /// What the adaptor has done so far, here and in workers.
    [[nodiscard]] AdaptedFunctions adapted() const;

 private:
    Status open_backend(const std::string& impl, const TargetFlags& flags, const LibraryFlags& library);
    Status make_adaptor(const std::string& config);

    std::unique_ptr<SimBackend> sim_;
    std::optional<CheckedBackend> checked_;
    std::unique_ptr<AdaptorTally> tally_;
    std::unique_ptr<Adaptor> adaptor_;
};

}  // namespace diopi
