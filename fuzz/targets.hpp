/// Fuzz targets: functions that take the bytes of one file from an untrusted source. For any bytes a target must
/// return, with time and memory in proportion to its input.
///
/// A new target needs a line in DIOPI_FUZZ_TARGETS and a file of its name in this folder; seeds are in corpus/<name>/.
#pragma once

#include <array>
#include <string_view>

#define DIOPI_FUZZ_TARGETS(X) \
    X(baseline_hdf5)          \
    X(bundle_hdf5)            \
    X(capture)                \
    X(case_json)              \
    X(device_config)          \
    X(journal)

namespace diopi::fuzz {

#define DIOPI_FUZZ_DECLARE(name) [[nodiscard]] bool name(std::string_view bytes);
DIOPI_FUZZ_TARGETS(DIOPI_FUZZ_DECLARE)
#undef DIOPI_FUZZ_DECLARE

struct Target {
    std::string_view name;
    bool (*run)(std::string_view bytes);  ///< whether the bytes were a valid file
};

#define DIOPI_FUZZ_ROW(name) Target{#name, name},
inline constexpr std::array kTargets = {DIOPI_FUZZ_TARGETS(DIOPI_FUZZ_ROW)};
#undef DIOPI_FUZZ_ROW

/// The target of that name, or null.
inline const Target* find_target(std::string_view name) {
    for (const Target& target : kTargets) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

}  // namespace diopi::fuzz
