/// A case in a worker process: the worker's part, and the parent's conversion of the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "conformance/save_failures.hpp"
#include "conformance/stored_baselines.hpp"
#include "step/case_run.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

/// The options of the workers for every case.
struct CaseWorkerOptions {
    CaseOptions cases;
    /// Folder of stored baselines; a case without one is computed during the run.
    std::string data;
    /// Called in the worker process after each case; its text becomes the result's notes.
    std::function<std::string(const Case&)> after_case;
    /// Bundles of failures.
    SaveFailures save = {};
};

/// Used for one run of the pool: it prepares each worker when its first case comes.
class CaseWorker {
 public:
    explicit CaseWorker(CaseWorkerOptions options) : options_(std::move(options)) {}

    /// Runs the case, in the worker, which keeps at most so many bytes of memory freed by the cases before.
    [[nodiscard]] WorkAnswer work(const Case& c, size_t most_kept = SIZE_MAX);
    /// Saves the bundles of a case whose own worker died, in the worker. Answers with their names.
    [[nodiscard]] WorkAnswer save(const Case& c, const Unsaved& unsaved);
    /// The case's result, in the parent; also if the worker died.
    [[nodiscard]] CaseResult result_of(const Case& c, const WorkOutcome& outcome) const;

 private:
    void prepare();
    WorkAnswer answer_of(CaseResult result) const;

    CaseWorkerOptions options_;
    std::optional<StoredBaselines> baselines_;
};

}  // namespace diopi
