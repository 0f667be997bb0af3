#include "run/worker_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

namespace diopi {

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t g_interrupted = 0;

void note_interrupt(int) { g_interrupted = 1; }

/// Reads or writes all of `size` bytes; false at the end of the stream or on an error.
template <class Transfer, class Byte>
bool transfer_all(Transfer transfer, int fd, Byte* data, size_t size) {
    while (size > 0) {
        const ssize_t n = transfer(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool read_all(int fd, void* data, size_t size) { return transfer_all(::read, fd, static_cast<char*>(data), size); }
bool write_all(int fd, const void* data, size_t size) {
    const auto send_quietly = [](int f, const char* p, size_t n) { return ::send(f, p, n, MSG_NOSIGNAL); };
    return transfer_all(send_quietly, fd, static_cast<const char*>(data), size);
}

/// The child's life: items in, answers out, until the parent closes the socket. noexcept: an exception must end this
/// process and not run the destructors of the parent's frames, which would end the other workers.
[[noreturn]] void serve(int fd, const std::function<std::string(size_t)>& work) noexcept {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    // What an operator library prints must not mix with the parent's report.
    if (const int null = open("/dev/null", O_WRONLY); null >= 0) dup2(null, STDOUT_FILENO);
    size_t item = 0;
    while (read_all(fd, &item, sizeof item)) {
        const std::string answer = work(item);
        const size_t size = answer.size();
        if (!write_all(fd, &size, sizeof size) || !write_all(fd, answer.data(), size)) break;
    }
    _exit(0);
}

std::string signal_text(int signal) {
    const char* meaning = strsignal(signal);
    const char* abbreviation = sigabbrev_np(signal);
    return "SIG" + std::string(abbreviation == nullptr ? std::to_string(signal) : abbreviation) + " (" +
           (meaning == nullptr ? "unknown signal" : meaning) + ")";
}

std::string death_text(int status) {
    if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
    return "the process ended by itself with exit code " + std::to_string(WEXITSTATUS(status));
}

class Worker {
 public:
    Worker() = default;
    Worker(Worker&& other) noexcept { *this = std::move(other); }
    Worker& operator=(Worker&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(fd_, other.fd_);
        std::swap(item_, other.item_);
        std::swap(deadline_, other.deadline_);
        return *this;
    }
    ~Worker() { stop(); }

    Status start(const std::function<std::string(size_t)>& work, const std::vector<Worker>& others) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            return failed(std::string("cannot make a socket for a worker: ") + std::strerror(errno));
        }
        pid_ = fork();
        if (pid_ < 0) {
            close(ends[0]);
            close(ends[1]);
            return failed(std::string("cannot start a worker process: ") + std::strerror(errno));
        }
        if (pid_ == 0) {
            close(ends[0]);
            for (const Worker& other : others) {
                if (other.fd_ >= 0) close(other.fd_);
            }
            serve(ends[1], work);
        }
        close(ends[1]);
        fd_ = ends[0];
        return {};
    }

    [[nodiscard]] bool running() const { return pid_ > 0; }
    [[nodiscard]] bool busy() const { return item_.has_value(); }
    [[nodiscard]] size_t item() const { return *item_; }
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

    bool assign(size_t item, Clock::duration limit) {
        item_ = item;
        deadline_ = Clock::now() + limit;
        return write_all(fd_, &item, sizeof item);
    }

    /// The answer that is waiting, or how the process died.
    WorkOutcome collect() {
        size_t size = 0;
        WorkOutcome outcome;
        if (read_all(fd_, &size, sizeof size)) {
            outcome.payload.resize(size);
            if (read_all(fd_, outcome.payload.data(), size)) {
                item_.reset();
                return outcome;
            }
        }
        return {WorkOutcome::End::kCrashed, {}, death_text(reap())};
    }

    /// Ends the process at once.
    void stop() {
        if (!running()) return;
        kill(pid_, SIGKILL);
        reap();
    }

 private:
    int reap() {
        int status = 0;
        close(fd_);
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        fd_ = -1;
        item_.reset();
        return status;
    }

    pid_t pid_ = -1;
    int fd_ = -1;
    std::optional<size_t> item_;
    Clock::time_point deadline_;
};

class Pool {
 public:
    Pool(const std::vector<size_t>& items, const PoolOptions& options, const std::function<std::string(size_t)>& work,
         const std::function<Status(size_t, const WorkOutcome&)>& done)
        : items_(items),
          limit_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout_s))),
          timeout_s_(options.timeout_s),
          work_(work),
          done_(done) {
        workers_.resize(std::min(static_cast<size_t>(std::max(options.jobs, 1)), std::max<size_t>(items.size(), 1)));
    }

    Status run() {
        while (!interrupted()) {
            if (Status s = hand_out(); !s.ok()) return s;
            if (std::ranges::none_of(workers_, &Worker::busy)) return {};
            if (Status s = wait(); !s.ok()) return s;
        }
        return {};
    }

 private:
    Status hand_out() {
        for (Worker& worker : workers_) {
            if (worker.busy() || next_ == items_.size()) continue;
            if (!worker.running()) {
                if (Status s = worker.start(work_, workers_); !s.ok()) return s;
            }
            // A worker that died since its last answer is found by wait().
            (void)worker.assign(items_[next_++], limit_);
        }
        return {};
    }

    Status wait() {
        std::vector<pollfd> fds;
        std::vector<Worker*> waiting;
        auto first = Clock::now() + std::chrono::seconds(1);
        for (Worker& worker : workers_) {
            if (!worker.busy()) continue;
            fds.push_back({worker.fd(), POLLIN, 0});
            waiting.push_back(&worker);
            first = std::min(first, worker.deadline());
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count() + 1;
        const int ready = poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left, 0)));
        if (ready < 0 && errno != EINTR) return failed(std::string("poll: ") + std::strerror(errno));
        if (ready < 0) return {};
        for (size_t i = 0; i < fds.size(); ++i) {
            if (Status s = attend(*waiting[i], fds[i].revents != 0); !s.ok()) return s;
        }
        return {};
    }

    Status attend(Worker& worker, bool ready) {
        const size_t item = worker.item();
        if (ready) return done_(item, worker.collect());
        if (Clock::now() < worker.deadline()) return {};
        worker.stop();
        const std::string limit = std::to_string(timeout_s_);
        return done_(item, {WorkOutcome::End::kTimeout,
                            {},
                            "no answer within " + limit.substr(0, limit.find('.') + 2) + " s (--timeout)"});
    }

    const std::vector<size_t>& items_;
    Clock::duration limit_;
    double timeout_s_;
    const std::function<std::string(size_t)>& work_;
    const std::function<Status(size_t, const WorkOutcome&)>& done_;
    std::vector<Worker> workers_;
    size_t next_ = 0;
};

}  // namespace

bool interrupted() { return g_interrupted != 0; }

void install_interrupt_handler() {
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

Status run_in_workers(const std::vector<size_t>& items, const PoolOptions& options,
                      const std::function<std::string(size_t)>& work,
                      const std::function<Status(size_t, const WorkOutcome&)>& done) {
    return Pool(items, options, work, done).run();
}

}  // namespace diopi
