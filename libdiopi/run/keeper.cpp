#include "run/keeper.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

namespace diopi {

namespace {

struct Message {
    pid_t group;
    bool alive;
};

/// The keeper's life. It stands aside: no signal of the terminal, no file of the parent.
[[noreturn]] void keep_watch(int fd) noexcept {
    setpgid(0, 0);
    prctl(PR_SET_NAME, "diopi-keeper");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) std::signal(signal, SIG_IGN);
    dup2(fd, STDIN_FILENO);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    std::set<pid_t> groups;
    Message message = {};
    for (;;) {
        const ssize_t n = recv(STDIN_FILENO, &message, sizeof message, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n != sizeof message) break;
        if (message.alive) {
            groups.insert(message.group);
        } else {
            groups.erase(message.group);
        }
    }
    for (const pid_t group : groups) kill(-group, SIGKILL);
    _exit(0);
}

}  // namespace

Keeper::~Keeper() {
    if (fd_ >= 0) close(fd_);
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Status Keeper::start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return failed(std::string("cannot make a socket for the workers' keeper: ") + std::strerror(errno));
    }
    pid_ = fork();
    if (pid_ == 0) {
        close(ends[0]);
        keep_watch(ends[1]);
    }
    const int code = errno;
    close(ends[1]);
    fd_ = ends[0];
    if (pid_ > 0) return {};
    return failed(std::string("cannot start the workers' keeper: ") + std::strerror(code) +
                  "; raise the limit of processes (ulimit -u)");
}

void Keeper::watch(pid_t group) { tell(group, true); }

void Keeper::forget(pid_t group) { tell(group, false); }

void Keeper::tell(pid_t group, bool alive) {
    const Message message = {group, alive};
    // Without a keeper, the run is as good as any that is not killed.
    (void)send(fd_, &message, sizeof message, MSG_NOSIGNAL);
}

void Keeper::leave_to_parent() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    pid_ = -1;
}

}  // namespace diopi
