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
    /// Instead of those that the bundle names.
    std::optional<Checks> checks;
    PoolOptions pool;
    /// As those of the run that saved the bundle.
    Adaptor* adaptor = nullptr;
    std::vector<Interceptor*> interceptors = {};
    /// Called in the worker behind the call; what it returns becomes the result's notes.
    std::function<std::string(const std::string& case_id)> after_case;
};

/// A bundle was replayed.
struct Replay {
    CaseResult result;    ///< with one step
    BundleOrigin origin;  ///< without its environment
    Verdict recorded = Verdict::kFailed;
    std::string reason;  ///< recorded
    bool interrupted = false;
};

/// What is shown of it.
[[nodiscard]] ReplayRecord to_record(const Replay& replay);

/// The step that a bundle holds; bad input where its parts contradict each other. Refers to the bundle's generators.
[[nodiscard]] Result<Step> step_of(const Bundle& bundle);

/// Answers with the expected values of a bundle.
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
