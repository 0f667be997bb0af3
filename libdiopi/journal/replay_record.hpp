/// What came of a replay bundle that ran again.
#pragma once

#include <string>

#include "journal/record.hpp"

namespace diopi {

struct ReplayRecord {
    CaseResult result;  ///< with one step
    /// As the bundle has them.
    Verdict recorded = Verdict::kFailed;
    std::string reason;
    std::string backend, file, file_hash;  ///< of the library: its name, its file and that file's XXH64
    std::string version;                   ///< of the program: "diopi 1.0.0"
};

}  // namespace diopi
