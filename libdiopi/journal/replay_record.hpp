/// The result of a replay bundle that ran again.
#pragma once

#include <string>

#include "journal/record.hpp"

namespace diopi {

struct ReplayRecord {
    CaseResult result;  ///< with one step
    /// Verdict and reason in the bundle.
    Verdict recorded = Verdict::kFailed;
    std::string reason;
    std::string backend, file, file_hash;  ///< the library's name, its file and that file's XXH64
    std::string version;                   ///< the program: "diopi 1.0.0"
};

}  // namespace diopi
