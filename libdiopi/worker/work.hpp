/// The work of worker processes: an item at a time, with an answer or another end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

/// The answer of the work.
struct WorkAnswer {
    std::string payload = {};                ///< in a form that the parent knows: worker/message.hpp, a record's text
    bool last = false;                       ///< the worker can do no more work: it ends, and another replaces it
    Status status = {};                      ///< an error if the work failed
    std::vector<std::string> warnings = {};  ///< a line each, for users
};

/// The end of one item.
struct WorkOutcome {
    enum class End {
        kFinished,
        kCrashed,
        kOutOfMemory,  ///< crashed because memory ran out
        kTimeout
    };
    End end = End::kFinished;
    std::string payload;                ///< the payload of the answer
    std::vector<std::string> warnings;  ///< warnings of the work
    /// The error of the work itself; for an item with another end, its reason.
    Status status;
    std::string reason;  ///< "SIGSEGV (Segmentation fault) in backward (diopiAddBackward)", "no answer within 30 s"
    int64_t worker = 0;  ///< serial number of the process that had the item, from 0 in the order of their starts
    int64_t memory_limit = 0;  ///< bytes of data that this process could take; 0: no limit
    CrashContext context;      ///< the last action of a worker that died or hung
    std::string printed;       ///< `wrote 14 bytes to standard output: "hello..."`; empty if it wrote nothing there
    std::string errors;        ///< the last 2 KiB that it wrote to standard error

    [[nodiscard]] bool finished() const { return end == End::kFinished; }
};

struct PoolOptions {
    /// Means an equal share of the memory that is available when the run begins.
    static constexpr int64_t kFairShare = -1;

    int jobs = 1;
    double timeout_s = 300;                    ///< for one item
    const char* timeout_option = "--timeout";  ///< the option that sets it
    int64_t memory_limit = kFairShare;         ///< bytes of data of one worker; 0: no limit
    /// The bytes that an item needs, estimated. With equal shares, items that need more than one come last, in half as
    /// many workers, or half of these, and so on: in as many as can have what the item needs. Each of them has the
    /// threads of those that are gone, too. Null: no item does.
    std::function<int64_t(size_t item)> needs = {};
    /// With `needs`, whether items may change their order. A worker keeps the memory of its largest item, so the large
    /// ones are then left to one worker as long as there are small ones for the others.
    bool may_reorder = false;
    /// With `needs`, whether an item ended because an equal share was too little all the same: it is done again with
    /// the last ones, alone, and that outcome is its only one. Null: never.
    std::function<bool(size_t item, const WorkOutcome& outcome)> needs_all = {};
    int64_t output_limit = int64_t{1} << 20;  ///< bytes on standard output and error together, for one item
    double budget_s = 0;                      ///< no item starts after this time; 0: no end
    std::function<bool()> is_enough = {};     ///< no item starts once it holds
    std::function<void()> on_tick = {};       ///< called in the parent at each event, at least once a second
    bool echo_errors = false;                 ///< standard error of workers is copied to this process's
};

/// Runs one item in a worker process.
using Work = std::function<WorkAnswer(size_t item)>;

}  // namespace diopi
