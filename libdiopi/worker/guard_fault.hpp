/// Adds the buffer of a crash on a protected page to the crash context of the worker.
#pragma once

#include <string_view>

namespace diopi {

/// Sets the crash context, as set_crash_context() does, and keeps it for the signal handler.
void set_call_context(std::string_view context) noexcept;

/// From now on a SIGSEGV or SIGBUS in a protected page (GuardedDevice) adds the buffer to the crash context before it
/// ends the process: "forward (diopiAdd), 4 bytes behind the end of out".
void install_guard_fault_handler();

}  // namespace diopi
