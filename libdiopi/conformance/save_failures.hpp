/// Replay bundles of the steps that fail in a run (capture/bundle.hpp).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capture/bundle.hpp"
#include "step/case_run.hpp"

namespace diopi {

struct SaveFailures {
    std::string folder;  ///< empty: nothing is saved
    BundleOrigin origin;
    /// The command that repeats a case.
    std::function<std::string(const std::string& case_id)> repeat = {};
    /// The folder that a relative `folder` is in; a library may change the working directory of its worker.
    std::string start = {};
};

/// Makes the folder; an error when no file can be written there.
Status check_bundle_folder(const std::string& folder);

/// The end of a case whose worker could not save it.
struct Unsaved {
    std::string step;  ///< the step in which the worker died; empty: unknown, any is possible
    Verdict verdict = Verdict::kCrashed;
    std::string reason;
};

/// Saves the failures of one case, in a worker. A bundle that cannot be written is a warning.
class FailureSaver {
 public:
    /// Keeps references to all three.
    FailureSaver(const SaveFailures& save, const Case& c, const CaseOptions& options)
        : save_(save), case_(c), options_(options) {}

    /// Saves a step that ran and failed.
    void save(const FailedStep& failed_step);
    /// Plans the case again and saves the step in which the worker died, or every one, without results.
    void save(const Unsaved& unsaved);

    /// Adds the files' names to their steps.
    void name_files(CaseResult& result) const;
    /// The files' names, separated by spaces.
    [[nodiscard]] std::string files() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
    void write(const Step& step, const std::vector<ArgTensor>& expected, const std::vector<ArgTensor>& actual,
               Verdict verdict, const std::string& reason);
    Status plan_and_write(const Unsaved& unsaved);
    void warn(const std::string& what);

    const SaveFailures& save_;
    const Case& case_;
    const CaseOptions& options_;
    std::vector<std::pair<std::string, std::string>> files_;  ///< pairs of step and file
    std::vector<std::string> warnings_;
};

}  // namespace diopi
