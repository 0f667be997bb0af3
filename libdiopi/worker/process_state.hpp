/// The kernel's information about another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace diopi {

/// The activity of a process that gives no answer: "it was computing", "all its threads were asleep (a deadlock?)", "it
/// was stopped by a signal", "it waited for a disk or a device"; empty when the kernel does not say.
[[nodiscard]] std::string_view activity_of(pid_t pid);

/// Direct children of this process's calling thread; none when the kernel does not say.
[[nodiscard]] std::vector<pid_t> children_of_this_thread();

/// The number of processes that the kernel has killed since it started because memory ran out, that of the machine or
/// of a control group; 0 when the kernel does not say.
[[nodiscard]] int64_t kills_for_memory();

}  // namespace diopi
