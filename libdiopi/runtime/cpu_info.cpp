#include "runtime/cpu_info.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace diopi {

namespace {

constexpr int64_t kKibibyte = 1024;

/// The value behind "key :" in the first line that begins with the key; empty when there is none.
std::string_view value_of(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const size_t name_end = line.find_last_not_of(" \t", colon - 1);
        if (line.substr(0, name_end + 1) != key) continue;
        const size_t begin = line.find_first_not_of(" \t", colon + 1);
        if (begin == std::string_view::npos) return {};
        return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    return {};
}

/// The leading number of a text: 32768 for "32768K"; 0 where there is none.
int64_t leading_number(std::string_view text) {
    int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

int64_t bytes_of(std::string_view meminfo, std::string_view key) {
    return leading_number(value_of(meminfo, key)) * kKibibyte;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string cache_file(const std::string& folder, int cpu, int index, const char* name) {
    return folder + "/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/" + name;
}

int usable_processors() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

/// The C library's figure comes last: on virtual machines it may be ten times too large.
int64_t last_level_cache() {
    if (const int64_t bytes = cache_bytes_from("/sys/devices/system/cpu"); bytes > 0) return bytes;
    for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
        const long bytes = sysconf(level);
        if (bytes > 0) return bytes;
    }
    return 0;
}

}  // namespace

int64_t cache_bytes_from(const std::string& folder) {
    int64_t outermost = 0, total = 0;
    std::set<std::string> seen;  // each cache once, named by the processors that share it
    for (int cpu = 0; std::ifstream(cache_file(folder, cpu, 0, "level")); ++cpu) {
        for (int index = 0; std::ifstream(cache_file(folder, cpu, index, "level")); ++index) {
            const int64_t level = leading_number(text_of(cache_file(folder, cpu, index, "level")));
            if (level < outermost) continue;
            if (level > outermost) total = 0, seen.clear();
            outermost = level;
            if (!seen.insert(text_of(cache_file(folder, cpu, index, "shared_cpu_list"))).second) continue;
            total += leading_number(text_of(cache_file(folder, cpu, index, "size"))) * kKibibyte;
        }
    }
    return total;
}

DeviceInfo cpu_info_from(std::string_view cpuinfo, std::string_view meminfo) {
    DeviceInfo info;
    info.name = value_of(cpuinfo, "model name");
    info.vendor = value_of(cpuinfo, "vendor_id");
    info.total_bytes = bytes_of(meminfo, "MemTotal");
    info.free_bytes = bytes_of(meminfo, "MemAvailable");
    return info;
}

Result<DeviceInfo> cpu_info() {
    DeviceInfo info = cpu_info_from(text_of("/proc/cpuinfo"), text_of("/proc/meminfo"));
    if (info.total_bytes == 0) return failed("cannot read MemTotal in /proc/meminfo; is /proc mounted?");
    utsname machine = {};
    if (uname(&machine) == 0) info.architecture = machine.machine;
    // Not every architecture's /proc/cpuinfo names a model.
    if (info.name.empty()) info.name = info.architecture;
    info.compute_units = usable_processors();
    info.cache_bytes = last_level_cache();
    return info;
}

}  // namespace diopi
