/// Adds the buffer of a crash on a protected page to the crash context of the worker.
#pragma once

namespace diopi {

/// From now on a SIGSEGV or SIGBUS in a protected page (GuardedDevice) adds the buffer to the crash context before it
/// ends the process: "forward (diopiAdd), 4 bytes past the end of out".
void install_guard_fault_handler();

}  // namespace diopi
