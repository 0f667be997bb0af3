#include "worker/worker.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "worker/answer.hpp"
#include "worker/memory_limit.hpp"
#include "worker/process_state.hpp"
#include "worker/worker_life.hpp"

namespace diopi {

namespace {

/// The time that a worker has to exit by itself after its socket was closed.
constexpr auto kGrace = std::chrono::seconds(3);
/// The interval of checks if the kernel has no pidfd.
constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr uint64_t kLargestAnswer = uint64_t{256} << 20;

constexpr const char* kGarbled = "garbage instead of an answer: something wrote to the socket of its worker";
constexpr const char* kClosedSocket = "the socket of its worker was closed or replaced";

std::string signal_text(int signal) {
    const char* meaning = strsignal(signal);
    const char* abbreviation = sigabbrev_np(signal);
    return "SIG" + std::string(abbreviation == nullptr ? std::to_string(signal) : abbreviation) + " (" +
           (meaning == nullptr ? "unknown signal" : meaning) + ")";
}

/// Closes the open ones.
void close_all(std::initializer_list<int*> descriptors) {
    for (int* fd : descriptors) {
        if (*fd >= 0) close(*fd);
        *fd = -1;
    }
}

}  // namespace

Status Worker::start(const Work& work, const std::vector<std::unique_ptr<Worker>>& others, int64_t serial) {
    held_bytes_ = 0;
    auto page = CrashPage::create();
    if (!page.ok()) return page.status();
    page_ = std::move(*page);
    auto out = out_.open();
    if (!out.ok()) return out.status();
    const Descriptor out_end(*out);
    auto err = err_.open();
    if (!err.ok()) return err.status();
    const Descriptor err_end(*err);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return failed(std::string("cannot make a socket for a worker: ") + std::strerror(errno));
    }
    const Descriptor child_end(ends[1]);
    fd_ = ends[0];
    // The child must not write the content of a buffer of this process again.
    std::fflush(nullptr);
    auto forked = fork_guarded([&](pid_t guardian) {
        for (const auto& other : others) other->close_descriptors();
        close_descriptors();
        page_.adopt();
        live({child_end.fd(), out_end.fd(), err_end.fd(), guardian, options_->memory_limit, threads_}, work);
    });
    if (!forked.ok()) {
        close_descriptors();
        return forked.status();
    }
    pids_ = *forked;
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pids_.guardian, 0));
    serial_ = serial;
    kills_before_ = kills_for_memory();
    inherited_ = data_of_process();
    return {};
}

void Worker::assign(size_t item) {
    item_ = item;
    if (options_->needs) held_bytes_ = std::max(held_bytes_, options_->needs(item));
    const std::chrono::duration<double> limit(options_->timeout_s);
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
    inbox_.clear();
    socket_closed_ = false;
    page_.begin();
    out_.begin();
    err_.begin();
    // A worker that died since its last answer is found by attend().
    (void)send(fd_, &item, sizeof item, MSG_NOSIGNAL);
}

void Worker::add_to(std::vector<pollfd>& fds) const {
    if (!socket_closed_) fds.push_back({fd_, POLLIN, 0});
    for (const int fd : {pidfd_, out_.fd(), err_.fd()}) {
        if (fd >= 0) fds.push_back({fd, POLLIN, 0});
    }
}

std::optional<WorkOutcome> Worker::attend() {
    // The death is checked first: a dead worker writes nothing more, so the next reads get everything.
    const bool dead = has_died();
    const Inbox inbox = socket_closed_ ? Inbox::kClosed : receive();
    const int echo = options_->echo_errors ? STDERR_FILENO : -1;
    const int64_t room = options_->output_limit + 1;
    out_.drain(room - out_.bytes(), -1);
    err_.drain(room - err_.bytes(), echo);
    if (out_.bytes() + err_.bytes() > options_->output_limit) {
        return crashed(fmt::format("output flood: more than {} on standard output and standard error",
                                   memory_text(options_->output_limit)));
    }
    if (inbox == Inbox::kAnswer && (!dead || is_last_answer())) {
        auto answer = unpack_answer(answer_bytes());
        return answer ? finished(std::move(*answer)) : crashed(kGarbled);
    }
    if (inbox == Inbox::kGarbled) return crashed(kGarbled);
    if (dead) return crashed({});
    if (inbox == Inbox::kClosed && !std::exchange(socket_closed_, true))
        deadline_ = std::min(deadline_, Clock::now() + kGrace);
    if (Clock::now() < deadline_) return std::nullopt;
    return socket_closed_ ? crashed(kClosedSocket) : timed_out();
}

void Worker::dismiss() {
    if (!running() || busy() || leave_by_) return;
    (void)shutdown(fd_, SHUT_WR);
    leave_by_ = Clock::now() + kGrace;
}

void Worker::stop() {
    if (!running()) return;
    // A tool that watches a process, such as compute-sanitizer, prints its results only if the process is not killed.
    dismiss();
    if (leave_by_) wait_until(*leave_by_);
    (void)reap();
}

void Worker::wait_until(Clock::time_point end) const {
    for (auto now = Clock::now(); now < end && !has_died(); now = Clock::now()) {
        pollfd death = {pidfd_, POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
        (void)poll(&death, 1, static_cast<int>((pidfd_ < 0 ? std::min(left, kPollInterval) : left).count()));
    }
}

Worker::Inbox Worker::receive() {
    char buffer[1 << 16];
    for (;;) {
        const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return inspect();
        if (n <= 0) return inspect() == Inbox::kAnswer ? Inbox::kAnswer : Inbox::kClosed;
        inbox_.append(buffer, static_cast<size_t>(n));
        if (inspect() == Inbox::kGarbled) return Inbox::kGarbled;
    }
}

Worker::Inbox Worker::inspect() const {
    AnswerHead head;
    if (inbox_.size() < sizeof head) {
        const uint64_t magic = AnswerHead().magic;
        const bool begins = std::memcmp(inbox_.data(), &magic, std::min(inbox_.size(), sizeof magic)) == 0;
        return begins ? Inbox::kWaiting : Inbox::kGarbled;
    }
    std::memcpy(&head, inbox_.data(), sizeof head);
    const bool is_valid = head.magic == AnswerHead().magic && head.item == *item_ && head.size <= kLargestAnswer;
    const uint64_t got = inbox_.size() - sizeof head;
    if (!is_valid || got > head.size) return Inbox::kGarbled;
    return got == head.size ? Inbox::kAnswer : Inbox::kWaiting;
}

bool Worker::has_died() const {
    siginfo_t info = {};
    const pid_t pid = pids_.guardian;
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

bool Worker::is_last_answer() const {
    AnswerHead head;
    std::memcpy(&head, inbox_.data(), sizeof head);
    return head.last != 0;
}

std::string_view Worker::answer_bytes() const { return std::string_view(inbox_).substr(sizeof(AnswerHead)); }

WorkOutcome Worker::finished(WorkAnswer answer) {
    WorkOutcome result = outcome(WorkOutcome::End::kFinished, {});
    result.payload = std::move(answer.payload);
    result.warnings = std::move(answer.warnings);
    result.status = std::move(answer.status);
    item_.reset();
    if (is_last_answer()) stop();
    return result;
}

WorkOutcome Worker::crashed(std::string what) {
    const Death death = reap();
    // The last bytes that it wrote.
    out_.drain(options_->output_limit, -1);
    err_.drain(options_->output_limit, options_->echo_errors ? STDERR_FILENO : -1);
    if (!what.empty()) return outcome(WorkOutcome::End::kCrashed, std::move(what));
    const auto end = ran_out_of_memory(death) ? WorkOutcome::End::kOutOfMemory : WorkOutcome::End::kCrashed;
    return outcome(end, death_text(death));
}

WorkOutcome Worker::timed_out() {
    const std::string_view activity = activity_of(pids_.worker);
    std::string what = fmt::format("no answer within {:.1f} s ({})", options_->timeout_s, options_->timeout_option);
    WorkOutcome result = outcome(WorkOutcome::End::kTimeout, std::move(what));
    if (!activity.empty()) result.reason += fmt::format("; {}", activity);
    result.status = failed(result.reason);
    stop();
    return result;
}

WorkOutcome Worker::outcome(WorkOutcome::End end, std::string reason) {
    WorkOutcome result;
    result.end = end;
    result.reason = std::move(reason);
    result.worker = serial_;
    result.memory_limit = options_->memory_limit;
    result.printed = stray_output_text(out_);
    result.errors = err_.kept();
    if (end == WorkOutcome::End::kFinished) return result;
    result.context = page_.read();
    if (const std::string doing = result.context.text(); !doing.empty()) result.reason += " in " + doing;
    if (!page_.begun()) result.reason += " before this case began: an earlier case of this worker is to blame";
    result.status = failed(result.reason);
    return result;
}

bool Worker::ran_out_of_memory(const Death& death) const {
    if (page_.lost_socket()) return false;
    const int64_t limit = options_->memory_limit;
    return page_.out_of_memory() || (limit > 0 && death.peak_bytes >= inherited_ + limit / 8 * 7) ||
           was_killed_for_memory(death);
}

bool Worker::was_killed_for_memory(const Death& death) const {
    return WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGKILL && kills_for_memory() > kills_before_;
}

std::string Worker::death_text(const Death& death) const {
    if (page_.lost_socket()) return kClosedSocket;
    std::string text = WIFSIGNALED(death.status)
                           ? signal_text(WTERMSIG(death.status))
                           : fmt::format("the process ended by itself with exit code {}", WEXITSTATUS(death.status));
    if (!ran_out_of_memory(death)) return text;
    if (page_.out_of_memory()) return "out of memory: " + text;
    const char* by_whom = was_killed_for_memory(death) ? " by the kernel" : "";
    return fmt::format("out of memory: {}{} with {} in use", text, by_whom, memory_text(death.peak_bytes));
}

void Worker::close_descriptors() {
    close_all({&fd_, &pidfd_});
    out_.close();
    err_.close();
}

Worker::Death Worker::reap() {
    kill(pids_.guardian, SIGTERM);
    int status = 0;
    rusage usage = {};
    while (wait4(pids_.guardian, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    close_all({&fd_, &pidfd_});
    pids_ = {};
    item_.reset();
    leave_by_.reset();
    return {status, int64_t{usage.ru_maxrss} * 1024};
}

}  // namespace diopi
