#include "worker/guard_fault.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "runtime/guarded_device.hpp"
#include "worker/last_words.hpp"

namespace diopi {

namespace {

constexpr size_t kLongestWords = 120;
constexpr size_t kStack = 64 << 10;

/// What say_call noted, and room for the buffer behind it; the handler must not allocate.
std::array<char, 2 * kLongestWords> g_words;
size_t g_length = 0;
std::array<char, kStack> g_stack;

void name_buffer(int signal, siginfo_t* info, void*) {
    constexpr std::string_view kComma = ", ";
    char* behind = g_words.data() + g_length;
    std::memcpy(behind, kComma.data(), kComma.size());
    const std::span<char> room(behind + kComma.size(), kLongestWords - kComma.size());
    if (describe_guard_fault(info->si_addr, room)) say(g_words.data());
    // The instruction is tried again, and ends the process as it would have.
    std::signal(signal, SIG_DFL);
}

}  // namespace

void say_call(std::string_view words) noexcept {
    g_length = std::min(words.size(), kLongestWords - 1);
    std::memcpy(g_words.data(), words.data(), g_length);
    g_words[g_length] = '\0';
    say(words);
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
