/// A process between this one and a worker, which ends all processes that the worker started.
#pragma once

#include <sys/types.h>

#include <functional>

#include "core/status.hpp"

namespace diopi {

/// The guardian is this process's child, the worker the guardian's.
struct Guarded {
    pid_t guardian = -1;
    pid_t worker = -1;
};

/// Forks a guardian, which forks the worker, where life(guardian) runs and must not return. A process below the
/// guardian that loses its parent becomes the guardian's child, in any group or session. When the worker has died,
/// on SIGTERM, and when this process has ended for any reason, the guardian kills all its remaining descendants; then
/// it ends like the worker, with its exit code or by its signal, so that a wait for the guardian gives the worker's
/// death, status and peak memory.
[[nodiscard]] Result<Guarded> fork_guarded(const std::function<void(pid_t guardian)>& life);

}  // namespace diopi
