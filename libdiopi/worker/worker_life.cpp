#include "worker/worker_life.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>
#include <vector>

#include "worker/answer.hpp"
#include "worker/crash_context.hpp"
#include "worker/memory_limit.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

/// Resets blocked, ignored and handled signals, which were inherited from the parent or from its parent. Only SIGXFSZ
/// remains ignored: a file over the limit is an error of the write.
void reset_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
#ifdef __SANITIZE_ADDRESS__
        // These are the sanitizer's own handlers, which print the error.
        if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT)
            continue;
#endif
        if (signal != SIGXFSZ) std::signal(signal, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Descriptors of files that the parent writes and keeps to itself: a stray write must not reach the journal.
void close_files_of_parent() {
    std::vector<int> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const int fd = std::atoi(entry.path().filename().c_str());
        struct stat info = {};
        const bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
        const bool is_private = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
        if (is_file && is_private && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) files.push_back(fd);
    }
    for (const int fd : files) close(fd);
}

/// The library's output goes to the parent; its standard input is at its end.
void replace_standard_streams(const WorkerChannels& channels) {
    if (const Descriptor null(open("/dev/null", O_RDONLY)); null.fd() >= 0) dup2(null.fd(), STDIN_FILENO);
    dup2(channels.out, STDOUT_FILENO);
    dup2(channels.err, STDERR_FILENO);
    close(channels.out);
    close(channels.err);
}

[[noreturn]] void end_without_socket() {
    CrashPage::note_lost_socket();
    _exit(1);
}

bool read_item(int fd, size_t& item) {
    ssize_t n = 0;
    while ((n = recv(fd, &item, sizeof item, MSG_WAITALL)) < 0 && errno == EINTR) {
    }
    if (n < 0) end_without_socket();
    return n == sizeof item;
}

void send_all(int fd, const void* data, size_t size) {
    const auto* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) _exit(0);
        if (n < 0) end_without_socket();
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void throw_bad_alloc() {
    CrashPage::note_out_of_memory();
    throw std::bad_alloc();
}

}  // namespace

void live(const WorkerChannels& channels, const Work& work) noexcept {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before.
    if (getppid() != channels.parent) _exit(0);
    setpgid(0, 0);
    reset_signals();
    replace_standard_streams(channels);
    close_files_of_parent();
    limit_memory(channels.memory_limit);
    set_threads_of_worker(channels.threads);
    std::set_new_handler(throw_bad_alloc);
    const pid_t self = getpid();
    AnswerHead head;
    for (size_t item = 0; read_item(channels.socket, item);) {
        CrashPage::note_begun();
        const WorkAnswer answer = work(item);
        // A fork by the library that returns here is not a worker.
        if (getpid() != self) _exit(0);
        std::cout.flush();
        std::fflush(nullptr);
        const std::string bytes = pack_answer(answer);
        head.item = item;
        head.size = bytes.size();
        head.last = answer.last ? 1 : 0;
        send_all(channels.socket, &head, sizeof head);
        send_all(channels.socket, bytes.data(), bytes.size());
        if (answer.last) break;
    }
    _exit(0);
}

}  // namespace diopi
