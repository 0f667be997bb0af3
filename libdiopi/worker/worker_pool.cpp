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
        : options_(options), work_(work), done_(done) {
        const bool has_shares = options.memory_limit == PoolOptions::kFairShare && can_limit_memory() && options.needs;
        std::deque<size_t> left(items.begin(), items.end());
        for (int workers = std::max(options.jobs, 1);; workers /= 2) {
            const int64_t limit = memory_limit_of(options, workers);
            const bool is_last = workers == 1 || !has_shares || limit == 0;
            const auto fits = [&](size_t item) { return is_last || options.needs(item) <= limit; };
            const auto large = std::stable_partition(left.begin(), left.end(), fits);
            groups_.push_back({workers, limit, {left.begin(), large}});
            left.erase(left.begin(), large);
            if (is_last) break;
        }
    }

    /// All workers exit at the same time.
    ~Pool() {
        for (const auto& worker : workers_) worker->dismiss();
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    Status run() {
        for (Group& group : groups_) {
            if (group.items.empty()) continue;
            // The memory of the former workers must be free.
            for (const auto& worker : workers_) worker->dismiss();
            workers_.clear();
            for (int i = 0; i < group.workers; ++i) {
                workers_.push_back(std::make_unique<Worker>(options_, std::max(options_.jobs, 1) / group.workers));
            }
            options_.memory_limit = group.memory_limit;
            items_ = std::move(group.items);
            if (Status s = run_items(); !s.ok()) return s;
        }
        return {};
    }

 private:
    /// Items that so many workers can do at a time, with the memory of each.
    struct Group {
        int workers;
        int64_t memory_limit;
        std::deque<size_t> items;
    };

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
        for (Group& group : groups_) group.items.clear();
    }

    Status hand_out() {
        end_early();
        for (const auto& worker : workers_) {
            if (worker->busy() || items_.empty()) continue;
            if (!worker->running()) {
                if (Status s = worker->start(work_, workers_, started_++); !s.ok()) return s;
            }
            const auto next = item_for(*worker);
            worker->assign(*next);
            items_.erase(next);
        }
        return {};
    }

    /// The first item; for a worker that holds less memory than another one, the first item that is small or needs no
    /// more than the worker holds, if there is one.
    [[nodiscard]] std::deque<size_t>::iterator item_for(const Worker& worker) {
        constexpr int64_t kSmall = int64_t{1} << 30;
        const auto has_more = [&](const auto& other) { return other->held_bytes() > worker.held_bytes(); };
        if (!options_.may_reorder || !options_.needs || std::ranges::none_of(workers_, has_more)) return items_.begin();
        const int64_t room = std::max(worker.held_bytes(), kSmall);
        const auto fits = [&](size_t item) { return options_.needs(item) <= room; };
        const auto found = std::ranges::find_if(items_, fits);
        return found == items_.end() ? items_.begin() : found;
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
        const bool has_more_later = groups_.back().workers < static_cast<int>(workers_.size());
        if (has_more_later && !is_over_ && options_.needs_all && options_.needs_all(item, *outcome)) {
            groups_.back().items.push_back(item);
            return {};
        }
        std::vector<size_t> more;
        Status status = done_(item, *outcome, more);
        items_.insert(items_.begin(), more.begin(), more.end());
        return status;
    }

    std::deque<Group> groups_;
    std::deque<size_t> items_;  ///< of the group under way
    PoolOptions options_;
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
