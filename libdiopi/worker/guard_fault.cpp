#include "worker/guard_fault.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "runtime/guarded_device.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

constexpr size_t kMostContext = 120;
constexpr size_t kStack = 64 << 10;

/// The context of the call, with room for the buffer's name after it; the handler must not allocate.
std::array<char, 2 * kMostContext> g_context;
size_t g_length = 0;
std::array<char, kStack> g_stack;

void name_buffer(int signal, siginfo_t* info, void*) {
    constexpr std::string_view kComma = ", ";
    char* behind = g_context.data() + g_length;
    std::memcpy(behind, kComma.data(), kComma.size());
    const std::span<char> room(behind + kComma.size(), kMostContext - kComma.size());
    if (describe_guard_fault(info->si_addr, room)) set_crash_context(g_context.data());
    // The instruction is tried again, and ends the process as it would have.
    std::signal(signal, SIG_DFL);
}

}  // namespace

void set_call_context(std::string_view context) noexcept {
    g_length = std::min(context.size(), kMostContext - 1);
    std::memcpy(g_context.data(), context.data(), g_length);
    g_context[g_length] = '\0';
    set_crash_context(context);
}

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
