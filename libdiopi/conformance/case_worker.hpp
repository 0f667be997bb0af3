/// A case in a worker process: what the worker does, and what its parent makes of the outcome.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "conformance/save_failures.hpp"
#include "conformance/stored_baselines.hpp"
#include "step/case_run.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

/// What workers are told about every case.
struct CaseWorkerOptions {
    CaseOptions cases;
    /// Folder of stored baselines; a case without one is computed on the spot.
    std::string data;
    /// Called in the worker process behind each case; what it returns becomes the result's notes.
    std::function<std::string(const Case&)> after_case;
    /// Bytes of one worker, 0: no limit; for reasons that name it.
    int64_t memory_limit = 0;
    /// Bundles of what fails.
    SaveFailures save = {};
};

/// For one run of the pool: prepares each worker when its first case comes.
class CaseWorker {
 public:
    explicit CaseWorker(CaseWorkerOptions options) : options_(std::move(options)) {}

    /// In the worker.
    [[nodiscard]] WorkAnswer work(const Case& c);
    /// In the worker: the bundles of a case that cost another one. Answers with their names.
    [[nodiscard]] WorkAnswer save(const Case& c, const Unsaved& unsaved);
    /// In the parent: the case's result, whatever became of the worker.
    [[nodiscard]] CaseResult result_of(const Case& c, const WorkOutcome& outcome) const;

 private:
    void prepare();
    WorkAnswer answer_of(CaseResult result) const;

    CaseWorkerOptions options_;
    std::optional<StoredBaselines> baselines_;
};

}  // namespace diopi
