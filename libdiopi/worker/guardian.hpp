/// A process between this one and a worker, which ends whatever the worker started.
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
/// guardian that loses its parent becomes the guardian's child, whatever group or session it went to. When the worker
/// has died, on SIGTERM, and when this process is gone by whatever cause, the guardian kills all that is left below it;
/// then it ends as the worker did, with its exit code or by its signal, so that who waits for the guardian learns of
/// the worker: death, status and peak memory.
[[nodiscard]] Result<Guarded> fork_guarded(const std::function<void(pid_t guardian)>& life);

}  // namespace diopi
