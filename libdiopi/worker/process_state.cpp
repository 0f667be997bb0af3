#include "worker/process_state.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace diopi {

namespace {

/// The letter after the name in /proc/PID/stat; the name may hold any character.
char state_in(const std::filesystem::path& stat) {
    std::ifstream file(stat);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t end = text.rfind(')');
    return end == std::string::npos || end + 2 >= text.size() ? '?' : text[end + 2];
}

}  // namespace

std::string_view activity_of(pid_t pid) {
    bool stopped = false, waiting = false, asleep = false;
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", error), end;
    for (auto task = tasks; !error && task != end; task.increment(error)) {
        switch (state_in(task->path() / "stat")) {
            case 'R':
                return "it was computing";
            case 'T':
            case 't':
                stopped = true;
                break;
            case 'D':
                waiting = true;
                break;
            case 'S':
                asleep = true;
                break;
        }
    }
    if (stopped) return "it was stopped by a signal";
    if (waiting) return "it waited for a disk or a device";
    return asleep ? "all its threads were asleep (a deadlock?)" : "";
}

std::vector<pid_t> children_of_this_thread() {
    std::ifstream file("/proc/thread-self/children");
    return {std::istream_iterator<pid_t>(file), {}};
}

int64_t kills_for_memory() {
    std::ifstream file("/proc/vmstat");
    std::string name;
    for (int64_t count = 0; file >> name >> count;) {
        if (name == "oom_kill") return count;
    }
    return 0;
}

}  // namespace diopi
