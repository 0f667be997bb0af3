#include "backend/dynamic_linker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string_view>

#include "backend/elf_file.hpp"

namespace diopi {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTimeLimit = std::chrono::seconds(20);

/// Makes the dynamic linker list what it has mapped, and exit. Its --list would stop at the first missing library.
constexpr const char* kList = "LD_TRACE_LOADED_OBJECTS=1";

/// Whether the variable would make it relocate, too, and thereby run resolvers of the library.
bool binds_symbols(std::string_view variable) {
    return variable.starts_with("LD_BIND_NOW=") || variable.starts_with("LD_WARN=") ||
           variable.starts_with("LD_DEBUG=");
}

/// Reads `fd` until its end or the time limit.
std::string read_all(int fd) {
    const auto end = Clock::now() + kTimeLimit;
    std::string text;
    char buffer[4096];
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd waiting{fd, POLLIN, 0};
        const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return text;
        const ssize_t n = read(fd, buffer, sizeof buffer);
        if (n <= 0) return text;
        text.append(buffer, static_cast<size_t>(n));
    }
}

/// The dynamic linker's standard output and standard error together; it is killed at the time limit.
Result<std::string> output_of(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return failed(std::string("cannot make a pipe: ") + std::strerror(errno));
    std::vector<char*> args, variables;
    for (const std::string& word : command) args.push_back(const_cast<char*>(word.c_str()));
    args.push_back(nullptr);
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (!binds_symbols(*entry)) variables.push_back(*entry);
    }
    variables.push_back(const_cast<char*>(kList));
    variables.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, command[0].c_str(), &actions, nullptr, args.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string text = error == 0 ? read_all(ends[0]) : "";
    close(ends[0]);
    if (error != 0) return failed("cannot run " + command[0] + ": " + std::strerror(error));
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return text;
}

/// Parses "\tlibm.so.6 => /lib/libm.so.6 (0x7f..)", "\tlibx.so => not found", "\t/lib64/ld-linux.so.2 (0x7f..)".
NeededLibrary library_in(std::string_view line) {
    const size_t arrow = line.find(" => "), address = line.rfind(" (0x");
    NeededLibrary library;
    library.name = line.substr(0, std::min(arrow, address));
    if (arrow == std::string_view::npos) {
        library.path = library.name;
        return library;
    }
    const std::string_view found =
        line.substr(arrow + 4, address == std::string_view::npos ? address : address - arrow - 4);
    if (found != "not found") library.path = found;
    return library;
}

}  // namespace

Result<NeededLibraries> list_needed_libraries(const std::string& path) {
    auto self = read_elf_file("/proc/self/exe");
    if (!self.ok()) return self.error();
    if (self->interpreter.empty()) return failed("this program has no dynamic linker: it is linked statically");
    // A path without a slash would be looked for in the linker's folders.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    auto text = output_of({self->interpreter, file});
    if (!text.ok()) return text.error();
    NeededLibraries needed;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('\t')) {
            const std::string_view entry = std::string_view(line).substr(1);
            if (entry == "statically linked") continue;
            needed.libraries.push_back(library_in(entry));
        } else if (!line.empty()) {
            needed.messages.push_back(line);
        }
    }
    return needed;
}

}  // namespace diopi
