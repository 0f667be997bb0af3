/// Worker processes: each item of work runs in a forked child, so that a crash, an abort or a hang costs one item.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// How one item ended.
struct WorkOutcome {
    enum class End { kFinished, kCrashed, kTimeout };
    End end = End::kFinished;
    std::string payload;  ///< what the work returned
    std::string reason;   ///< "SIGSEGV (invalid memory access)", "no answer within 30 s"
};

struct PoolOptions {
    int jobs = 1;
    double timeout_s = 300;  ///< for one item
};

/// True once SIGINT or SIGTERM has come, after install_interrupt_handler.
[[nodiscard]] bool interrupted();
void install_interrupt_handler();

/// Calls work(item) in worker processes and done(item, outcome) in this one, in the order in which items end. The
/// process must not have started threads. Stops early, with its workers gone, when interrupted() turns true or `done`
/// returns an error, which is passed on.
Status run_in_workers(const std::vector<size_t>& items, const PoolOptions& options,
                      const std::function<std::string(size_t)>& work,
                      const std::function<Status(size_t, const WorkOutcome&)>& done);

}  // namespace diopi
