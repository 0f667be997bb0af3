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
    int64_t accepted = 0;  ///< those of them that failed in the same way as the case
    double seconds = 0;
    const Case& smallest;
};

struct ShrinkOptions {
    CaseWorkerOptions worker;
    /// The verdict of the run.
    Verdict verdict = Verdict::kFailed;
    /// Every candidate has its own worker. timeout_s limits the time of a candidate; it gets five times the time of the
    /// case, at least 2 s, and hang_s if the case hangs.
    PoolOptions pool;
    double hang_s = 5;
    double seconds = 60;  ///< no candidate starts later
    /// Applies the changes of the run that repeats the case (a device configuration); false if that run skips it.
    std::function<bool(Case&)> prepare;
    std::function<void(const ShrinkProgress&)> progress;
};

struct Shrunk {
    Case smallest;      ///< the case in its file, with the layout and four_bytes of the options that it needs
    std::string file;   ///< its case file
    CaseResult before;  ///< result of the case, which ran once more
    CaseResult after;   ///< result of the smallest form
    int64_t tried = 0, accepted = 0;
    double seconds = 0;
    double timeout_s = 0;   ///< time limit of the last candidates
    bool finished = false;  ///< no smaller case fails; else the time was over, or the run was interrupted
};

/// The failing cases of a run that are shrunk.
struct FailuresToShrink {
    std::vector<const CaseResult*> chosen;  ///< the first five of each operator, in the order of the results
    int64_t left_out = 0;
};
[[nodiscard]] FailuresToShrink choose_failures(const std::vector<CaseResult>& results);

/// Writes the smallest form of a case into a run's folder; returns the path: shrunk/ops.add.add.3.json for
/// "ops/add.add.3".
[[nodiscard]] Result<std::string> write_shrunk(const std::string& run_folder, std::string case_id,
                                               const Shrunk& shrunk);

/// Tries reductions.hpp in rounds until none helps; tensors of at most 64 elements finally get stated values. A
/// candidate is read from its file, so that the file fails in the same way. It is an error if the case does not fail
/// when repeated alone, takes all of the time for that, or fails under no other name (which draws other numbers) and
/// has too many values to state.
[[nodiscard]] Result<Shrunk> shrink(const Case& c, const ShrinkOptions& options);

}  // namespace diopi
