/// Makes a failing case smaller as long as it fails for the same cause (docs/shrink.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "conformance/case_worker.hpp"
#include "core/status.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

struct ShrinkProgress {
    int64_t tried = 0;     ///< candidates that ran
    int64_t accepted = 0;  ///< of them, those that failed in the same way as the case
    double seconds = 0;
    const Case& smallest;
};

struct ShrinkOptions {
    CaseWorkerOptions worker;
    /// The verdict of the run.
    Verdict verdict = Verdict::kFailed;
    /// Every candidate has a worker of its own. timeout_s is what a candidate may take at most; one gets five times the
    /// time of the case, 2 s at least, and one of a case that hangs hang_s.
    PoolOptions pool;
    double hang_s = 5;
    double seconds = 60;  ///< no candidate starts later
    /// Applies the changes of the run that repeats the case (a device configuration); false if that run skips it.
    std::function<bool(Case&)> prepare;
    std::function<void(const ShrinkProgress&)> progress;
};

struct Shrunk {
    Case smallest;      ///< as its file has it, and the layout and four_bytes of the options that it needs
    std::string file;   ///< the case file of it
    CaseResult before;  ///< of the case, which ran once more
    CaseResult after;   ///< of the smallest form
    int64_t tried = 0, accepted = 0;
    double seconds = 0;
    double timeout_s = 0;   ///< what the last candidates were given
    bool finished = false;  ///< nothing smaller fails; else the time was over, or the run was interrupted
};

/// Failing cases of a run that are worth the time.
struct FailuresToShrink {
    std::vector<const CaseResult*> chosen;  ///< of each operator the first five, in the order of the results
    int64_t left_out = 0;
};
[[nodiscard]] FailuresToShrink choose_failures(const std::vector<CaseResult>& results);

/// Writes the smallest form of a case into a run's folder: "ops/add.add.3" is shrunk/ops.add.add.3.json. The path.
[[nodiscard]] Result<std::string> write_shrunk(const std::string& run_folder, std::string case_id,
                                               const Shrunk& shrunk);

/// Tries reductions.hpp in rounds until none helps, dims of at most 64 elements with stated values at last. A candidate
/// is what the reader makes of its file, so the file fails just so. Fails when the case does not fail when it is
/// repeated alone, takes all of the time for that, or fails under no other name (which draws other numbers) and its
/// values are too many to be stated.
[[nodiscard]] Result<Shrunk> shrink(const Case& c, const ShrinkOptions& options);

}  // namespace diopi
