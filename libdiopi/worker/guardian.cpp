#include "worker/guardian.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "worker/process_state.hpp"
#include "worker/worker_life.hpp"

namespace diopi {

namespace {

using Clock = std::chrono::steady_clock;

/// The interval of checks for living processes, in case a signal is lost.
constexpr timespec kPause = {0, 10'000'000};
/// A process that lives longer after SIGKILL cannot be killed: it hangs in a driver, or belongs to another user.
constexpr auto kGiveUp = std::chrono::seconds(10);

/// The signals that the guardian waits for: a child's death, and the request to end, which its parent's death also
/// sends.
sigset_t awaited_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    return set;
}

/// Whether the worker has died; it is not reaped, so that its group keeps its number. Reaps other dead processes.
bool has_died(pid_t worker) {
    for (;;) {
        siginfo_t info = {};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
        if (info.si_pid == worker) return true;
        waitpid(info.si_pid, nullptr, 0);
    }
}

/// Kills all descendants of this process, also those that become its children thereby. Returns the worker's status.
int end_all(pid_t worker) {
    const auto give_up = Clock::now() + kGiveUp;
    const sigset_t awaited = awaited_signals();
    int status_of_worker = SIGKILL;
    // If the kernel does not list children, only the group can be found.
    kill(-worker, SIGKILL);
    while (Clock::now() < give_up) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == worker) status_of_worker = status;
        if (pid > 0) continue;
        if (pid < 0 && errno == ECHILD) break;
        for (const pid_t child : children_of_this_thread()) kill(child, SIGKILL);
        sigtimedwait(&awaited, nullptr, &kPause);
    }
    return status_of_worker;
}

[[noreturn]] void end_as(int status) {
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    // The worker has already written a core.
    prctl(PR_SET_DUMPABLE, 0);
    const int signal = WTERMSIG(status);
    std::signal(signal, SIG_DFL);
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    sigprocmask(SIG_UNBLOCK, &own, nullptr);
    std::raise(signal);
    _exit(128 + signal);
}

/// The main function of the guardian. It ignores the terminal's signals and has no file of the parent. noexcept, like a
/// worker's.
[[noreturn]] void keep_guard(pid_t parent, int report, const std::function<void(pid_t)>& life) noexcept {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // The parent may have died before.
    if (getppid() != parent) _exit(0);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::signal(SIGCHLD, SIG_DFL);
    const pid_t self = getpid();
    const pid_t worker = fork();
    if (worker == 0) {
        close(report);
        life(self);
    }
    const int pid_or_error = worker > 0 ? worker : -errno;
    // Both processes do this: neither may continue before it is done.
    if (worker > 0) setpgid(worker, worker);
    if (write(report, &pid_or_error, sizeof pid_or_error) != sizeof pid_or_error || worker < 0) _exit(0);
    prctl(PR_SET_NAME, "diopi-guardian");
    for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) std::signal(signal, SIG_IGN);
    close_range(0, ~0U, 0);
    const sigset_t awaited = awaited_signals();
    while (!has_died(worker) && sigwaitinfo(&awaited, nullptr) != SIGTERM) {
    }
    end_as(end_all(worker));
}

/// Reads the guardian's report: the worker's process id, or the negated error of fork.
int receive_pid(int fd) {
    int pid_or_error = 0;
    while (read(fd, &pid_or_error, sizeof pid_or_error) < 0 && errno == EINTR) {
    }
    return pid_or_error;
}

}  // namespace

Result<Guarded> fork_guarded(const std::function<void(pid_t guardian)>& life) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return failed(std::string("cannot make a pipe for a worker: ") + std::strerror(errno) +
                      "; run fewer at a time (--jobs) or raise the limit of open files (ulimit -n)");
    }
    const Descriptor reader(ends[0]);
    // Signals that arrive before the guardian waits for them must not be lost.
    const sigset_t awaited = awaited_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &awaited, &before);
    // OpenMP's threads do not exist in a child, which would wait for them.
    omp_pause_resource_all(omp_pause_soft);
    const pid_t parent = getpid();
    const pid_t guardian = fork();
    if (guardian == 0) {
        close(ends[0]);
        keep_guard(parent, ends[1], life);
    }
    const int code = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    close(ends[1]);
    const int pid_or_error = guardian > 0 ? receive_pid(ends[0]) : -code;
    if (pid_or_error > 0) return Guarded{guardian, pid_or_error};
    while (guardian > 0 && waitpid(guardian, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed(std::string("cannot start a worker process: ") +
                  (pid_or_error < 0 ? std::strerror(-pid_or_error) : "its guardian was killed") +
                  "; run fewer at a time (--jobs) or raise the limit of processes (ulimit -u)");
}

}  // namespace diopi
