/// Preloaded into diopi: allocations of a chosen size go wrong in its worker processes, as a faulty operator library
/// would. DIOPI_TEST_FAULTS lists what happens at which size in bytes: "segv@32832 hang@4096".
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
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
        if (at[length] == '@' && std::strtoull(at + length + 1, nullptr, 10) == size) return true;
    }
    return false;
}

void act_on(std::size_t size) {
    if (wanted("segv", size)) std::raise(SIGSEGV);
    if (wanted("abort", size)) std::abort();
    if (wanted("kill", size)) std::raise(SIGKILL);
    if (wanted("exit", size)) _exit(7);
    for (volatile bool stuck = wanted("hang", size); stuck;) {
    }
}

}  // namespace

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    using Function = void* (*)(std::size_t, std::size_t);
    static const auto original = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "aligned_alloc"));
    act_on(size);
    if (!wanted("null", size)) return original(alignment, size);
    errno = ENOMEM;
    return nullptr;
}

void* operator new(std::size_t size) {
    void* memory = wanted("throw", size) ? nullptr : std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
