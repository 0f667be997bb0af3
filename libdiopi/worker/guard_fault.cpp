#include "worker/guard_fault.hpp"

#include <array>
#include <csignal>

#include "runtime/guarded_device.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

constexpr size_t kLongestBuffer = 120;
constexpr size_t kStack = 64 << 10;

std::array<char, kStack> g_stack;

/// It must not allocate.
void name_buffer(int signal, siginfo_t* info, void*) {
    std::array<char, kLongestBuffer> text = {};
    if (describe_guard_fault(info->si_addr, text)) note_faulty_buffer(text.data());
    // The instruction is tried again, and ends the process as it would have done; a signal that was sent is sent again.
    std::signal(signal, SIG_DFL);
    if (info->si_code <= 0) std::raise(signal);
}

}  // namespace

void install_guard_fault_handler() {
    const stack_t stack{g_stack.data(), 0, g_stack.size()};
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_sigaction = name_buffer;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

}  // namespace diopi
