/// Names a crash on a protected page: which buffer's edge it is, in the last words of the worker.
#pragma once

#include <string_view>

namespace diopi {

/// Notes what this worker does now, as say() does, for the handler too.
void say_call(std::string_view words) noexcept;

/// From now on a SIGSEGV or SIGBUS in a protected page (GuardedDevice) adds the buffer to the last words before it ends
/// the process: "forward (diopiAdd), 4 bytes behind the end of out".
void install_guard_fault_handler();

}  // namespace diopi
