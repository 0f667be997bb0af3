/// The machine's information about its processors and its memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/device.hpp"

namespace diopi {

/// The processors that this process may use and the memory of the machine, as they are now.
[[nodiscard]] Result<DeviceInfo> cpu_info();

/// Name and vendor from the text of /proc/cpuinfo, bytes from that of /proc/meminfo; compute_units is left at 0.
/// Missing values are empty or 0.
[[nodiscard]] DeviceInfo cpu_info_from(std::string_view cpuinfo, std::string_view meminfo);

/// The size of all last-level caches together, from Linux's description of the processors
/// (/sys/devices/system/cpu/cpu*/cache/index*): a machine may have several, each for some processors. 0: it has none.
[[nodiscard]] int64_t cache_bytes_from(const std::string& folder);

}  // namespace diopi
