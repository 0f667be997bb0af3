#include "worker/memory_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

namespace diopi {

namespace {

constexpr int64_t kLeast = int64_t{64} << 20;
constexpr int64_t kLeastShare = int64_t{1} << 30;
constexpr std::string_view kUnits = "KMGT";

int64_t g_limit = 0;

/// The factor of "", "K", "KB", "KiB" and so on; 0 for anything else.
double factor_of(std::string_view unit) {
    if (unit.empty() || unit == "B") return 1;
    const size_t power = kUnits.find(unit.front());
    unit.remove_prefix(1);
    if (power == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) return 0;
    return static_cast<double>(int64_t{1} << (10 * (power + 1)));
}

/// The number of that name in a file of the kernel, which gives it in KiB; 0 when it has none.
int64_t bytes_in(const char* path, std::string_view wanted) {
    std::ifstream file(path);
    for (std::string name; file >> name;) {
        int64_t kib = 0;
        if (name == wanted && file >> kib) return kib * 1024;
        std::getline(file, name);
    }
    return 0;
}

}  // namespace

Result<int64_t> parse_memory_size(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const double factor = factor_of({end, text.data() + text.size()});
    const double bytes = number * factor;
    if (error != std::errc() || factor == 0 || !(bytes >= 0 && bytes < 0x1p60)) {
        return bad_input(
            fmt::format("'{}' is no memory size: give a number and K, M, G or T, such as 4G or 512M; 0 for "
                        "no limit",
                        text));
    }
    if (bytes > 0 && bytes < static_cast<double>(kLeast)) {
        return bad_input(
            fmt::format("'{}' is too little: a worker itself needs up to 64M; 0 stands for no limit", text));
    }
    return static_cast<int64_t>(bytes);
}

std::string memory_text(int64_t bytes) {
    constexpr std::array<std::string_view, 4> kNames = {"KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kNames.size(); ++unit) value /= 1024;
    return fmt::format("{:.1f} {}", value, kNames[unit]);
}

int64_t fair_share_of_memory(int workers) {
    const int64_t available = bytes_in("/proc/meminfo", "MemAvailable:");
    return available == 0 ? 0 : std::max(kLeastShare, available / std::max(workers, 1));
}

int64_t data_of_process() { return bytes_in("/proc/self/status", "VmData:"); }

bool can_limit_memory() {
#ifdef __SANITIZE_ADDRESS__
    return false;
#else
    return true;
#endif
}

void limit_memory(int64_t bytes) {
    if (bytes <= 0 || !can_limit_memory()) return;
    g_limit = bytes;
    rlimit limit = {};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(data_of_process() + bytes));
    setrlimit(RLIMIT_DATA, &limit);
}

int64_t memory_limit() { return g_limit; }

}  // namespace diopi
