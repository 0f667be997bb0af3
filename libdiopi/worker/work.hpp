/// The work of worker processes: an item at a time, with an answer or another end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace diopi {

/// What the work gives back.
struct WorkAnswer {
    std::string payload;
    bool last = false;  ///< the worker is fit for no more work: it ends, and a new one takes its place
};

/// How one item ended.
struct WorkOutcome {
    enum class End { kFinished, kCrashed, kTimeout };
    End end = End::kFinished;
    std::string payload;  ///< what the work returned
    std::string reason;   ///< "SIGSEGV (Segmentation fault) in backward (diopiAddBackward)", "no answer within 30 s"
    int64_t worker = 0;   ///< serial number of the process that had the item, from 0 in the order of their starts
    std::string doing;    ///< the crash context of a worker that died or hung (worker/crash_context.hpp)
    std::string printed;  ///< `wrote 14 bytes to standard output: "hello..."`; empty when it wrote nothing there
    std::string errors;   ///< the last 2 KiB that it wrote to standard error
};

struct PoolOptions {
    /// Stands for a fair share of the memory that is available when the run begins.
    static constexpr int64_t kFairShare = -1;

    int jobs = 1;
    double timeout_s = 300;                   ///< for one item
    int64_t memory_limit = kFairShare;        ///< bytes of data of one worker; 0: no limit
    int64_t output_limit = int64_t{1} << 20;  ///< bytes on standard output and error together, for one item
    bool echo_errors = false;                 ///< what workers write to standard error appears on this one's, too
};

/// Runs one item in a worker process.
using Work = std::function<WorkAnswer(size_t item)>;

}  // namespace diopi
