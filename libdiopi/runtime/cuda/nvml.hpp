/// Whether an NVIDIA GPU reduces its speed, from the driver's management library.
#pragma once

#include <cstdint>
#include <string>

namespace diopi {

/// The text for NVML's bits of clock event reasons: "too hot, power limit"; empty where none makes the GPU slower.
[[nodiscard]] std::string slowdown_text(uint64_t reasons);

/// The current text for the GPU with this PCI bus id ("0000:3b:00.0"); empty without the library.
[[nodiscard]] std::string nvml_slowdown(const std::string& bus_id);

}  // namespace diopi
