/// The environment variables that diopi reads.
#pragma once

namespace diopi {

/// Each is on with any value but the empty one and 0.
struct Environment {
    bool memory_check = false;            ///< DIPU_MEM_CHECK: name the memory that a run leaves behind
    bool memory_check_backtrace = false;  ///< DIPU_MEM_CHECK_ENABLE_BACKTRACE: and who asked for it
};

[[nodiscard]] Environment read_environment();

}  // namespace diopi
