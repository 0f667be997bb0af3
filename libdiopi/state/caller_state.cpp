#include "state/caller_state.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace diopi {

namespace {

#if defined(__x86_64__)
/// Without the flags of the exceptions that happened, which every calculation may raise.
constexpr uint64_t kExceptionFlags = 0x3f;

uint64_t vector_control() {
    uint32_t control = 0;
    asm volatile("stmxcsr %0" : "=m"(control));
    return control & ~kExceptionFlags;
}
void set_vector_control(uint64_t control) {
    const auto word = static_cast<uint32_t>(control);
    asm volatile("ldmxcsr %0" : : "m"(word));
}
uint64_t x87_control() {
    uint16_t word = 0;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
}
void set_x87_control(uint64_t control) {
    const auto word = static_cast<uint16_t>(control);
    asm volatile("fldcw %0" : : "m"(word));
}
#elif defined(__aarch64__)
/// The flags of the exceptions are in another register.
uint64_t vector_control() {
    uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
void set_vector_control(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
uint64_t x87_control() { return 0; }
void set_x87_control(uint64_t) {}
#endif

/// A bit for each signal; the kernel knows no more than 64.
uint64_t bits_of(const sigset_t& set) {
    uint64_t bits = 0;
    std::memcpy(&bits, &set, sizeof(bits));
    return bits;
}

/// A flag that the C library adds for itself when it sets a handler.
constexpr int kRestorer = 0x04000000;

std::string current_folder() {
    std::array<char, PATH_MAX> folder{};
    return getcwd(folder.data(), folder.size()) != nullptr ? folder.data() : "";
}

mode_t current_umask() {
    const mode_t mask = umask(022);
    umask(mask);
    return mask;
}

/// A runtime of OpenMP registers itself in the environment when its first thread starts.
bool is_registration(std::string_view variable) { return variable.starts_with("__KMP_REGISTERED_LIB_"); }

std::string current_environment() {
    std::string all;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        if (is_registration(*variable)) continue;
        all += *variable;
        all += '\0';
    }
    return all;
}

void set_environment(const std::string& variables) {
    clearenv();
    for (size_t at = 0; at < variables.size();) {
        const std::string variable = variables.c_str() + at;
        at += variable.size() + 1;
        const size_t equals = variable.find('=', 1);
        if (equals == std::string::npos) continue;
        setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
}

/// Copies of the standard descriptors as they were when they were last seen whole.
std::array<int, 3>& saved_descriptors() {
    static std::array<int, 3> saved = {-1, -1, -1};
    return saved;
}

void save_descriptor(int fd) {
    constexpr int kFirstSaved = 100;
    int& saved = saved_descriptors()[static_cast<size_t>(fd)];
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, kFirstSaved);
    if (copy < 0) return;
    if (saved >= 0) close(saved);
    saved = copy;
}

}  // namespace

CallerState CallerState::now() {
    CallerState state;
    state.float_control_ = vector_control();
    state.x87_control_ = x87_control();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    state.signal_mask_ = bits_of(blocked);
    for (size_t signal = 1; signal < kSignals; ++signal) {
        struct sigaction action = {};
        if (sigaction(static_cast<int>(signal), nullptr, &action) != 0) continue;
        action.sa_flags &= ~kRestorer;
        state.handlers_[signal] = action;
    }
    state.folder_ = current_folder();
    state.umask_ = current_umask();
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.locale_ = locale != nullptr ? locale : "";
    state.thread_locale_ = uselocale(nullptr);
    state.environment_ = current_environment();
    for (size_t limit = 0; limit < state.limits_.size(); ++limit) {
        getrlimit(static_cast<__rlimit_resource>(limit), &state.limits_[limit]);
    }
    for (size_t timer = 0; timer < state.timers_.size(); ++timer) {
        itimerval value = {};
        getitimer(static_cast<__itimer_which>(timer), &value);
        state.timers_[timer] = value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
    }
    errno = 0;
    state.nice_ = getpriority(PRIO_PROCESS, 0);
    state.policy_ = sched_getscheduler(0);
    CPU_ZERO(&state.cores_);
    sched_getaffinity(0, sizeof(state.cores_), &state.cores_);
    for (size_t fd = 0; fd < state.descriptors_.size(); ++fd) {
        struct stat info = {};
        Descriptor& descriptor = state.descriptors_[fd];
        if (fstat(static_cast<int>(fd), &info) != 0) continue;
        descriptor = {true, info.st_dev, info.st_ino, fcntl(static_cast<int>(fd), F_GETFL)};
    }
    return state;
}

void CallerState::keep_descriptors() {
    for (int fd = 0; fd < 3; ++fd) save_descriptor(fd);
}

std::vector<std::string> CallerState::changes_since(const CallerState& before) const {
    std::vector<std::string> changes;
    const auto name = [&](bool differs, const char* part) {
        if (differs) changes.emplace_back(part);
    };
    name(float_control_ != before.float_control_,
         "the floating-point control (rounding mode, flushing of denormals, "
         "exceptions)");
    name(x87_control_ != before.x87_control_, "the control word of the x87 unit");
    name(signal_mask_ != before.signal_mask_, "the signal mask");
    for (size_t signal = 1; signal < kSignals; ++signal) {
        const struct sigaction &own = handlers_[signal], &old = before.handlers_[signal];
        if (own.sa_handler == old.sa_handler && own.sa_flags == old.sa_flags) continue;
        changes.push_back("the handler of signal " + std::to_string(signal));
    }
    name(folder_ != before.folder_, "the working directory");
    name(umask_ != before.umask_, "the umask");
    name(locale_ != before.locale_ || thread_locale_ != before.thread_locale_, "the locale");
    name(environment_ != before.environment_, "the environment");
    name(!std::ranges::equal(
             limits_, before.limits_,
             [](const rlimit& a, const rlimit& b) { return a.rlim_cur == b.rlim_cur && a.rlim_max == b.rlim_max; }),
         "a resource limit");
    name(timers_ != before.timers_, "a timer (alarm, setitimer)");
    name(nice_ != before.nice_ || policy_ != before.policy_, "the priority of the calling thread");
    name(!CPU_EQUAL(&cores_, &before.cores_), "the core affinity of the calling thread");
    constexpr std::array kStreams = {"standard input", "standard output", "standard error"};
    for (size_t fd = 0; fd < kDescriptors; ++fd) name(descriptors_[fd] != before.descriptors_[fd], kStreams[fd]);
    return changes;
}

bool CallerState::restore() const {
    const CallerState found = now();
    if (found.float_control_ != float_control_) set_vector_control(float_control_);
    if (found.x87_control_ != x87_control_) set_x87_control(x87_control_);
    for (size_t signal = 1; signal < kSignals; ++signal) {
        const struct sigaction &own = handlers_[signal], &old = found.handlers_[signal];
        if (own.sa_handler != old.sa_handler || own.sa_flags != old.sa_flags) {
            sigaction(static_cast<int>(signal), &own, nullptr);
        }
    }
    if (found.signal_mask_ != signal_mask_) {
        sigset_t blocked;
        sigemptyset(&blocked);
        std::memcpy(&blocked, &signal_mask_, sizeof(signal_mask_));
        pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    }
    if (found.folder_ != folder_ && chdir(folder_.c_str()) != 0) return false;
    umask(umask_);
    if (found.locale_ != locale_) std::setlocale(LC_ALL, locale_.c_str());
    if (found.thread_locale_ != thread_locale_) uselocale(thread_locale_);
    if (found.environment_ != environment_) set_environment(environment_);
    for (size_t limit = 0; limit < limits_.size(); ++limit) {
        setrlimit(static_cast<__rlimit_resource>(limit), &limits_[limit]);
    }
    for (size_t timer = 0; timer < timers_.size(); ++timer) {
        const itimerval none = {};
        if (found.timers_[timer] && !timers_[timer]) setitimer(static_cast<__itimer_which>(timer), &none, nullptr);
    }
    if (found.nice_ != nice_) setpriority(PRIO_PROCESS, 0, nice_);
    if (!CPU_EQUAL(&found.cores_, &cores_)) sched_setaffinity(0, sizeof(cores_), &cores_);
    for (size_t fd = 0; fd < kDescriptors; ++fd) {
        const int saved = saved_descriptors()[fd];
        if (found.descriptors_[fd] == descriptors_[fd] || saved < 0) continue;
        dup2(saved, static_cast<int>(fd));
        fcntl(static_cast<int>(fd), F_SETFL, descriptors_[fd].flags);
    }
    return now().changes_since(*this).empty();
}

}  // namespace diopi
