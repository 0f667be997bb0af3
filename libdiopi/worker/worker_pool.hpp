/// Worker processes: each item of work runs in a forked child, so that a crash, an abort, a hang, exhausted memory or
/// a flood of output costs only one item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/status.hpp"
#include "worker/work.hpp"

namespace diopi {

/// The limit in bytes that the options set for one of `workers` workers, on this machine and in this build; 0: none.
[[nodiscard]] int64_t memory_limit_of(const PoolOptions& options, int workers);

/// True once SIGINT or SIGTERM has arrived, after install_interrupt_handler.
[[nodiscard]] bool interrupted();
void install_interrupt_handler();

/// Takes the outcome of an item. Items that it appends to `more` run next.
using WorkDone = std::function<Status(size_t item, const WorkOutcome& outcome, std::vector<size_t>& more)>;

/// Calls work(item) in worker processes and done(item, outcome) in this one, in the order in which items end. The
/// process must have no other threads. Stops early, with its workers gone, when interrupted() turns true or `done`
/// returns an error, which is passed on. No process that a worker started survives the end of the run or of
/// this process.
Status run_in_workers(const std::vector<size_t>& items, const PoolOptions& options, const Work& work,
                      const WorkDone& done);

}  // namespace diopi
