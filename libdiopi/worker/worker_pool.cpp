#include "worker/worker_pool.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>

#include "core/stopwatch.hpp"
#include "worker/memory_limit.hpp"
#include "worker/process_state.hpp"
#include "worker/worker.hpp"

namespace diopi {

namespace {

using Clock = Worker::Clock;

volatile std::sig_atomic_t g_interrupted = 0;

void note_interrupt(int) { g_interrupted = 1; }

/// During its lifetime, processes whose parents have died become children of this process. Those that still run at its
/// end are killed: for example a library's process whose guardian was killed.
class OrphanReaper {
 public:
    OrphanReaper() : before_(children_of_this_thread()) {
        prctl(PR_GET_CHILD_SUBREAPER, &was_on_);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    ~OrphanReaper() {
        // Each generation has the children of the killed processes.
        for (int generation = 0; generation < 100 && kill_new_ones(); ++generation) {
        }
        prctl(PR_SET_CHILD_SUBREAPER, was_on_);
    }
    OrphanReaper(const OrphanReaper&) = delete;
    OrphanReaper& operator=(const OrphanReaper&) = delete;

 private:
    bool kill_new_ones() {
        bool any = false;
        for (const pid_t pid : children_of_this_thread()) {
            if (std::ranges::find(before_, pid) != before_.end()) continue;
            any = true;
            kill(pid, SIGKILL);
            while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
        return any;
    }

    std::vector<pid_t> before_;
    int was_on_ = 0;
};

class Pool {
 public:
    Pool(const std::vector<size_t>& items, const PoolOptions& options, const Work& work, const WorkDone& done)
        : items_(items.begin(), items.end()), options_(options), work_(work), done_(done) {
        const bool may_take_all = options.jobs > 1 && options.memory_limit == PoolOptions::kFairShare;
        options_.memory_limit = memory_limit_of(options, options.jobs);
        if (may_take_all && options.needs && options_.memory_limit > 0) {
            all_memory_ = memory_limit_of(options, 1);
            const auto fits = [&](size_t item) { return options.needs(item) <= options_.memory_limit; };
            const auto large = std::stable_partition(items_.begin(), items_.end(), fits);
            large_.assign(large, items_.end());
            items_.erase(large, items_.end());
        }
        for (int i = 0; i < std::max(options.jobs, 1); ++i) {
            workers_.push_back(std::make_unique<Worker>(options_));
        }
    }

    /// All workers exit at the same time.
    ~Pool() {
        for (const auto& worker : workers_) worker->dismiss();
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    Status run() {
        if (Status s = run_items(); !s.ok() || large_.empty()) return s;
        // One worker is left, and the memory of the others is free.
        for (const auto& worker : workers_) worker->dismiss();
        workers_.resize(1);
        workers_[0]->stop();
        options_.memory_limit = all_memory_;
        items_ = std::move(large_);
        return run_items();
    }

 private:
    Status run_items() {
        while (!interrupted()) {
            if (options_.on_tick) options_.on_tick();
            if (Status s = hand_out(); !s.ok()) return s;
            if (std::ranges::none_of(workers_, &Worker::busy, &std::unique_ptr<Worker>::operator*)) return {};
            if (Status s = wait(); !s.ok()) return s;
        }
        return {};
    }

    [[nodiscard]] bool must_end() const {
        const bool is_late = options_.budget_s > 0 && watch_.seconds() >= options_.budget_s;
        return is_late || (options_.is_enough && options_.is_enough());
    }

    /// Items that come later, such as bundles of failures, are done.
    void end_early() {
        if (is_over_ || !must_end()) return;
        is_over_ = true;
        items_.clear();
        large_.clear();
    }

    Status hand_out() {
        end_early();
        for (const auto& worker : workers_) {
            if (worker->busy() || items_.empty()) continue;
            if (!worker->running()) {
                if (Status s = worker->start(work_, workers_, started_++); !s.ok()) return s;
            }
            worker->assign(items_.front());
            items_.pop_front();
        }
        return {};
    }

    Status wait() {
        std::vector<pollfd> fds;
        std::vector<std::pair<Worker*, size_t>> waiting;  // with the end of its descriptors
        auto first = Clock::now() + std::chrono::seconds(1);
        for (const auto& worker : workers_) {
            if (!worker->busy()) continue;
            worker->add_to(fds);
            waiting.emplace_back(worker.get(), fds.size());
            first = std::min(first, worker->deadline());
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count() + 1;
        const int ready = poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left, 0)));
        if (ready < 0 && errno != EINTR) return failed(std::string("poll: ") + std::strerror(errno));
        if (ready < 0) return {};
        auto begin = fds.begin();
        for (const auto& [worker, end_index] : waiting) {
            const auto end = fds.begin() + static_cast<std::ptrdiff_t>(end_index);
            const bool has_event = std::any_of(begin, end, [](const pollfd& fd) { return fd.revents != 0; });
            begin = end;
            // Without pidfd in the kernel, some deaths are only found here, once a second.
            if (ready > 0 && !has_event && Clock::now() < worker->deadline()) continue;
            if (Status s = attend(*worker); !s.ok()) return s;
        }
        return {};
    }

    Status attend(Worker& worker) {
        const size_t item = worker.item();
        const auto outcome = worker.attend();
        if (!outcome) return {};
        std::vector<size_t> more;
        Status status = done_(item, *outcome, more);
        items_.insert(items_.begin(), more.begin(), more.end());
        return status;
    }

    std::deque<size_t> items_;
    std::deque<size_t> large_;  ///< those that need more than a worker's share of the memory
    PoolOptions options_;
    int64_t all_memory_ = 0;  ///< the limit of a worker that runs alone
    const Work& work_;
    const WorkDone& done_;
    OrphanReaper orphan_reaper_;
    std::vector<std::unique_ptr<Worker>> workers_;
    int64_t started_ = 0;
    Stopwatch watch_;
    bool is_over_ = false;
};

}  // namespace

int64_t memory_limit_of(const PoolOptions& options, int workers) {
    if (!can_limit_memory()) return 0;
    return options.memory_limit == PoolOptions::kFairShare ? fair_share_of_memory(workers) : options.memory_limit;
}

bool interrupted() { return g_interrupted != 0; }

void install_interrupt_handler() {
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

Status run_in_workers(const std::vector<size_t>& items, const PoolOptions& options, const Work& work,
                      const WorkDone& done) {
    return Pool(items, options, work, done).run();
}

}  // namespace diopi
