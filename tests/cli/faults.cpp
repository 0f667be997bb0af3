/// A library to preload into diopi: allocations of certain sizes cause faults in its worker processes, like a faulty
/// operator library. DIOPI_TEST_FAULTS lists the fault for each size in bytes: "segv@32832 hang@4096".
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

pid_t g_parent = 0;

__attribute__((constructor)) void remember_parent() { g_parent = getpid(); }

bool wanted(const char* kind, std::size_t size) {
    const char* faults = std::getenv("DIOPI_TEST_FAULTS");
    if (faults == nullptr || getpid() == g_parent) return false;
    const std::size_t length = std::strlen(kind);
    for (const char* at = std::strstr(faults, kind); at != nullptr; at = std::strstr(at + 1, kind)) {
        const bool whole = at == faults || at[-1] == ' ';
        if (whole && at[length] == '@' && std::strtoull(at + length + 1, nullptr, 10) == size) return true;
    }
    return false;
}

void loop() {
    for (volatile bool stuck = true; stuck;) {
    }
}

void block_signals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
}

[[noreturn]] void sleep_for_ever() {
    for (;;) pause();
}

void put(int fd, const char* text) {
    if (write(fd, text, std::strlen(text)) < 0) std::abort();
}

/// The device returns errors from then on.
bool g_unusable = false;

/// After an allocation of one size, those of another fail in the same process.
bool g_marked = false;

/// A case allocates several tensors of one size.
bool g_printed = false;

void once(bool& done, void (*act)()) {
    if (!done) act();
    done = true;
}

void flood(int fd) {
    char block[4096];
    std::memset(block, 'x', sizeof block);
    while (write(fd, block, sizeof block) > 0 || errno == EINTR) {
    }
}

/// A library that needs much memory for a while, in one block or several.
void need_memory(std::size_t bytes, int blocks) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) std::abort();
    std::memset(memory, 1, bytes);
    asm volatile("" : : "r"(memory) : "memory");  // else the compiler leaves out what is freed unread
    if (blocks > 1) need_memory(bytes, blocks - 1);
    std::free(memory);
}

void fill_memory() {
    constexpr std::size_t kBlock = 8 << 20;
    while (void* memory = std::malloc(kBlock)) std::memset(memory, 1, kBlock);
}

void fill_memory_by_new() noexcept {
    for (volatile bool on = true; on;) static_cast<void>(::operator new (std::size_t{1} << 30));
}

template <class Function>
void for_each_socket(Function function) {
    for (int fd = 3; fd < 256; ++fd) {
        struct stat info = {};
        if (fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) function(fd);
    }
}

void write_garbage() {
    for_each_socket([](int fd) { put(fd, "0123456789 garbage 0123456789 garbage"); });
}

void write_a_little_garbage() {
    for_each_socket([](int fd) { put(fd, "!"); });
}

void close_sockets() {
    for_each_socket([](int fd) { close(fd); });
}

/// Writes to every descriptor, like a library with a wrong descriptor number.
void write_everywhere() {
    for (int fd = 3; fd < 256; ++fd) {
        if (write(fd, "garbage", 7) < 0) continue;
    }
}

void replace_sockets() {
    for_each_socket([](int fd) { dup2(STDERR_FILENO, fd); });
}

/// The library's own socket takes the answer, and nobody reads it there.
void replace_sockets_by_others() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    for_each_socket([&](int fd) {
        if (fd != ends[0] && fd != ends[1]) dup2(ends[0], fd);
    });
}

void fork_a_sleeper() {
    if (fork() != 0) return;
    block_signals();
    sleep_for_ever();
}

/// Starts a daemon, which has another session, group and parent.
void fork_a_daemon() {
    if (fork() != 0) return;
    setsid();
    if (fork() != 0) _exit(0);
    sleep_for_ever();
}

void print_and_abort() {
    put(STDERR_FILENO, "preparing\nkernel.cpp:7: assertion `n > 0' failed\n");
    std::abort();
}

struct SignalFault {
    const char* kind;
    int signal;
};

constexpr SignalFault kSignals[] = {{"segv", SIGSEGV}, {"bus", SIGBUS},   {"fpe", SIGFPE},   {"ill", SIGILL},
                                    {"kill", SIGKILL}, {"stop", SIGSTOP}, {"trap", SIGTRAP}, {"term", SIGTERM},
                                    {"pipe", SIGPIPE}, {"sys", SIGSYS},   {"hup", SIGHUP},   {"usr1", SIGUSR1},
                                    {"int", SIGINT}};

struct Fault {
    const char* kind;
    void (*act)();
};

constexpr Fault kFaults[] = {
    {"sleeper", fork_a_sleeper},
    {"daemon", fork_a_daemon},
    {"twin", [] { static_cast<void>(fork()); }},
    {"print", [] { once(g_printed, [] { put(STDOUT_FILENO, "hello, \033worker\n"); }); }},
    {"printf", [] { once(g_printed, [] { std::printf("kept in a buffer"); }); }},
    {"mutter", [] { put(STDERR_FILENO, "only a warning\n"); }},
    {"garbage", write_garbage},
    {"bit", write_a_little_garbage},
    {"everywhere", write_everywhere},
    {"close", close_sockets},
    {"replace", replace_sockets},
    {"reroute", replace_sockets_by_others},
    {"assert", print_and_abort},
    {"abort", std::abort},
    {"exit", [] { std::exit(7); }},
    {"quit", [] { _exit(0); }},
    {"wild", [] { *reinterpret_cast<volatile int*>(16) = 1; }},
    {"flood", [] { flood(STDERR_FILENO); }},
    {"floodout", [] { flood(STDOUT_FILENO); }},
    {"hog", [] { fill_memory(), std::abort(); }},
    {"hognew", fill_memory_by_new},
    {"need", [] { need_memory(std::size_t{600} << 20, 1); }},
    {"gigabytes", [] { need_memory(std::size_t{8} << 20, 150); }},
    {"hang", loop},
    {"deaf", [] { block_signals(), loop(); }},
    {"deadlock", [] { block_signals(), sleep_for_ever(); }},
};

void act_on(std::size_t size) {
    for (const Fault& fault : kFaults) {
        if (wanted(fault.kind, size)) fault.act();
    }
    for (const SignalFault& fault : kSignals) {
        if (wanted(fault.kind, size)) std::raise(fault.signal);
    }
}

}  // namespace

namespace {

using Allocate = void* (*)(std::size_t, std::size_t);

void* allocate_or_fail(Allocate original, std::size_t alignment, std::size_t size) {
    act_on(size);
    g_unusable = g_unusable || wanted("unusable", size);
    g_marked = g_marked || wanted("mark", size);
    const bool spoiled = g_marked && wanted("spoiled", size);
    if (!g_unusable && !spoiled && !wanted("null", size)) return original(alignment, size);
    errno = ENOMEM;
    return nullptr;
}

Allocate next(const char* name) { return reinterpret_cast<Allocate>(dlsym(RTLD_NEXT, name)); }

}  // namespace

/// The program's own aligned_alloc takes its memory here; with a sanitizer it has none, and the next one is meant.
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept {
    static const Allocate original = next("__libc_memalign");
    return allocate_or_fail(original, alignment, size);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    static const Allocate original = next("aligned_alloc");
    return allocate_or_fail(original, alignment, size);
}

void* operator new(std::size_t size) {
    if (wanted("throw", size)) throw std::bad_alloc();
    for (;;) {
        if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}
