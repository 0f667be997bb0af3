/// One worker process, as its parent handles it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/crash_context.hpp"
#include "worker/guardian.hpp"
#include "worker/output_capture.hpp"
#include "worker/work.hpp"

namespace diopi {

class Worker {
 public:
    using Clock = std::chrono::steady_clock;

    /// `options` must outlive the worker; the memory limit is resolved.
    Worker(const PoolOptions& options, int threads) : options_(&options), threads_(threads) {}
    ~Worker() { stop(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Forks; the child does not touch `others` and never returns.
    Status start(const Work& work, const std::vector<std::unique_ptr<Worker>>& others, int64_t serial);
    [[nodiscard]] bool running() const { return pids_.guardian > 0; }
    [[nodiscard]] bool busy() const { return item_.has_value(); }
    [[nodiscard]] size_t item() const { return *item_; }
    /// The most bytes that an item of this process was said to need.
    [[nodiscard]] int64_t held_bytes() const { return held_bytes_; }
    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

    void assign(size_t item);
    /// Appends what poll() must wait on while the worker is busy.
    void add_to(std::vector<pollfd>& fds) const;
    /// Handles output, answer, death and deadline; returns the outcome once the item has ended. Never waits for the
    /// worker.
    [[nodiscard]] std::optional<WorkOutcome> attend();
    /// Tells an idle process to exit: it does so itself, without running any more code of a library.
    void dismiss();
    /// Ends the process and all processes that it started: at once if it is busy, else when it has exited, but at most
    /// 3 s after it was told to.
    void stop();

 private:
    enum class Inbox { kWaiting, kAnswer, kGarbled, kClosed };

    /// How a process ended, and its peak memory.
    struct Death {
        int status = 0;
        int64_t peak_bytes = 0;
    };

    Inbox receive();
    Inbox inspect() const;
    [[nodiscard]] bool has_died() const;
    void wait_until(Clock::time_point end) const;
    [[nodiscard]] bool is_last_answer() const;
    /// The received bytes of the answer.
    [[nodiscard]] std::string_view answer_bytes() const;
    WorkOutcome finished(WorkAnswer answer);
    WorkOutcome crashed(std::string what);
    WorkOutcome timed_out();
    WorkOutcome outcome(WorkOutcome::End end, std::string reason);
    /// Whether a process probably died because memory ran out.
    [[nodiscard]] bool ran_out_of_memory(const Death& death) const;
    /// Whether the kernel killed the process to get memory back.
    [[nodiscard]] bool was_killed_for_memory(const Death& death) const;
    [[nodiscard]] std::string death_text(const Death& death) const;
    void close_descriptors();
    Death reap();

    const PoolOptions* options_;
    int threads_;
    /// A wait for a child waits for the guardian instead of the worker.
    Guarded pids_;
    int fd_ = -1;
    int pidfd_ = -1;
    int64_t serial_ = 0;
    int64_t kills_before_ = 0;  ///< kills_for_memory() when the process started
    int64_t inherited_ = 0;     ///< bytes of data that it started with
    CrashPage page_;
    OutputPipe out_{OutputPipe::Keep::kBeginning}, err_{OutputPipe::Keep::kEnd};
    std::optional<size_t> item_;
    std::string inbox_;
    /// The socket is closed, but the process has not died yet.
    bool socket_closed_ = false;
    Clock::time_point deadline_;
    int64_t held_bytes_ = 0;
    std::optional<Clock::time_point> leave_by_;  ///< set for a dismissed worker
};

}  // namespace diopi
