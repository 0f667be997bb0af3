/// Runs the step of a replay bundle again, on any backend, without the files of its case.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "capture/bundle.hpp"
#include "intercept/adaptor/adaptor.hpp"
#include "journal/replay_record.hpp"
#include "step/checks.hpp"
#include "step/steps.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

struct ReplayOptions {
    std::string file;
    const Backend* backend = nullptr;
    /// Replaces the checks that the bundle names.
    std::optional<Checks> checks;
    PoolOptions pool;
    /// The same adaptor as in the run that saved the bundle.
    Adaptor* adaptor = nullptr;
    std::vector<Interceptor*> interceptors = {};
    /// Called in the worker after the call; its text becomes the result's notes.
    std::function<std::string(const std::string& case_id)> after_case;
};

/// The result of a replayed bundle.
struct Replay {
    CaseResult result;    ///< with one step
    BundleOrigin origin;  ///< without its environment
    Verdict recorded = Verdict::kFailed;
    std::string reason;  ///< the recorded reason
    bool interrupted = false;
};

/// Converts to a record for output.
[[nodiscard]] ReplayRecord to_record(const Replay& replay);

/// The step in a bundle; bad input if its parts contradict each other. Refers to the bundle's generators.
[[nodiscard]] Result<Step> step_of(const Bundle& bundle);

/// Returns the expected values of a bundle.
class BundleExpectations final : public Expectations {
 public:
    explicit BundleExpectations(const Bundle& bundle) : bundle_(&bundle) {}
    [[nodiscard]] Result<std::vector<ArgTensor>> expected(const Step& step) override;

 private:
    const Bundle* bundle_;
};

/// Reads the file and runs its step in worker processes, because the HDF5 library may crash
/// on a damaged file.
[[nodiscard]] Result<Replay> replay_bundle(const ReplayOptions& options);

}  // namespace diopi
