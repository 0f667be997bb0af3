/// The result of a requested baseline file.
#pragma once

#include <cstdint>
#include <string>

namespace diopi {

/// The reason why an existing file was not made again.
enum class Kept {
    kNot,
    kUnchanged,  ///< it was made from the same cases and seed
    kForeign     ///< another program made it: PyTorch, a user's script
};

/// One baseline file and its outcome.
struct GeneratedFile {
    std::string path;
    int64_t cases = 0;     ///< cases stored
    int64_t former = 0;    ///< cases of the former file that were not requested this time, and kept
    int64_t left_out = 0;  ///< random operators, and those without a reference
    int64_t bytes = 0;
    Kept kept = Kept::kNot;
    std::string error;  ///< why there is no file, or only an incomplete one
};

}  // namespace diopi
