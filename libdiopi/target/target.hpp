/// The target of --impl, with its tools: a backend or the simulated device, checked and adapted.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "intercept/adaptor/adaptor.hpp"
#include "intercept/sim_backend.hpp"
#include "journal/adapted.hpp"
#include "target/checked_backend.hpp"

namespace diopi {

struct TargetOptions {
    std::string sim_config;  ///< file that describes the simulated device; empty: the default one
    bool waits = false;      ///< the simulated device really waits for the modelled times
    std::string adaptor;     ///< a file or a preset that says what is converted; empty: nothing
};

class Target {
 public:
    /// Finds "sim", or whatever CheckedBackend::find finds.
    [[nodiscard]] static Result<Target> find(const std::string& impl, const TargetOptions& options,
                                             const LibraryOptions& library, const MemoryCheckOptions& check);

    [[nodiscard]] const Backend& backend() const { return sim_ == nullptr ? **checked_ : sim_->backend(); }
    /// See CheckedBackend::leaks.
    [[nodiscard]] std::string leaks(std::string_view where) { return checked_ ? checked_->leaks(where) : ""; }
    /// Null unless it is the simulated device. It is the innermost tool of every chain to its backend.
    [[nodiscard]] SimBackend* sim() const { return sim_.get(); }
    /// Null without an adaptor. It goes into every chain to its backend, outside of all tools but a recorder.
    [[nodiscard]] Adaptor* adaptor() const { return adaptor_.get(); }
    /// The conversions of the adaptor so far, here and in workers.
    [[nodiscard]] AdaptedFunctions adapted() const;

 private:
    Status open_sim(const TargetOptions& options, const LibraryOptions& library);
    Status make_adaptor(const std::string& config);

    std::unique_ptr<SimBackend> sim_;
    std::optional<CheckedBackend> checked_;
    std::unique_ptr<AdaptorTotals> totals_;
    std::unique_ptr<Adaptor> adaptor_;
};

}  // namespace diopi
