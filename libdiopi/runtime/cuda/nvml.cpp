#include "runtime/cuda/nvml.hpp"

#include <utility>

#include "runtime/opened_library.hpp"

namespace diopi {

namespace {

/// Source: NVML API reference, nvmlClocksEventReasons. Intended reasons are left out: an idle GPU, clocks that were
/// set.
constexpr std::pair<uint64_t, const char*> kReasons[] = {
    {0x04, "power limit"}, {0x08, "hardware slowdown"}, {0x20, "too hot"}, {0x40, "too hot"}, {0x80, "power brake"},
};

/// The functions of NVML that are needed; its handles are pointers and its results are 0 for success.
struct Nvml {
    int (*init)() = nullptr;
    int (*by_bus_id)(const char*, void**) = nullptr;
    int (*reasons)(void*, unsigned long long*) = nullptr;

    void find_all(FunctionFinder& finder) {
        finder.find(init, "nvmlInit_v2");
        finder.find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
        finder.find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
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
    static const OpenedLibrary<Nvml> opened("libnvidia-ml.so.1");
    static const bool is_ready = opened.is_usable && opened.functions.init() == 0;
    if (!is_ready) return {};
    const Nvml& nvml = opened.functions;
    void* gpu = nullptr;
    unsigned long long reasons = 0;
    if (nvml.by_bus_id(bus_id.c_str(), &gpu) != 0 || nvml.reasons(gpu, &reasons) != 0) return {};
    return slowdown_text(reasons);
}

}  // namespace diopi
