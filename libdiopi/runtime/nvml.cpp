#include "runtime/nvml.hpp"

#include <optional>
#include <utility>

#include "runtime/optional_library.hpp"

namespace diopi {

namespace {

/// Source: NVML API reference, nvmlClocksEventReasons. What is left out is wanted: an idle GPU, clocks that were set.
constexpr std::pair<uint64_t, const char*> kReasons[] = {
    {0x04, "power limit"}, {0x08, "hardware slowdown"}, {0x20, "too hot"}, {0x40, "too hot"}, {0x80, "power brake"},
};

/// The functions of NVML that are needed; its handles are pointers and its results are 0 for success.
struct Nvml {
    int (*init)() = nullptr;
    int (*by_bus_id)(const char*, void**) = nullptr;
    int (*reasons)(void*, unsigned long long*) = nullptr;

    static std::optional<Nvml> open() {
        auto library = OptionalLibrary::open("libnvidia-ml.so.1", "install the NVIDIA driver");
        Nvml nvml;
        if (!library.ok() || !library->find("nvmlInit_v2", nvml.init).ok() ||
            !library->find("nvmlDeviceGetHandleByPciBusId_v2", nvml.by_bus_id).ok() ||
            !library->find("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons).ok() || nvml.init() != 0) {
            return std::nullopt;
        }
        return nvml;
    }
};

}  // namespace

std::string slowdown_text(uint64_t reasons) {
    std::string text;
    for (const auto& [bit, name] : kReasons) {
        if ((reasons & bit) == 0 || text.find(name) != std::string::npos) continue;
        text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

std::string nvml_slowdown(const std::string& bus_id) {
    static const std::optional<Nvml> nvml = Nvml::open();
    void* gpu = nullptr;
    unsigned long long reasons = 0;
    if (!nvml || nvml->by_bus_id(bus_id.c_str(), &gpu) != 0 || nvml->reasons(gpu, &reasons) != 0) return {};
    return slowdown_text(reasons);
}

}  // namespace diopi
