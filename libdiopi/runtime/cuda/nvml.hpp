/// Whether an NVIDIA GPU reduces its speed, from the driver's management library.
#pragma once

#include <cstdint>
#include <string>

namespace diopi {

/// "too hot, power limit" of NVML's bits of clock event reasons; empty where none of them makes the GPU slower.
[[nodiscard]] std::string slowdown_text(uint64_t reasons);

/// The same of the GPU with this PCI bus id ("0000:3b:00.0") at the moment; empty without the library.
[[nodiscard]] std::string nvml_slowdown(const std::string& bus_id);

}  // namespace diopi
