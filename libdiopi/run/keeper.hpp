/// A process that ends the workers when this one dies, by whatever cause.
#pragma once

#include <sys/types.h>

#include "core/status.hpp"

namespace diopi {

/// Knows the process groups of the workers, and kills them when the process that made it is gone: SIGKILL leaves that
/// one no time to do so itself. Ends quietly when the object does.
class Keeper {
 public:
    Keeper() = default;
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    Status start();
    /// Every group must be made known before it runs foreign code, and forgotten before its leader is reaped.
    void watch(pid_t group);
    void forget(pid_t group);
    /// In a forked child: the keeper must not take the child for its parent.
    void leave_to_parent();

 private:
    void tell(pid_t group, bool alive);

    pid_t pid_ = -1;
    int fd_ = -1;
};

}  // namespace diopi
