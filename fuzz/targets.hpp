/// Fuzz targets: functions that take the bytes of one file as a stranger may have written it. Whatever they are, a
/// target must return, in time and memory that its input justifies.
///
/// A new target is a line in DIOPI_FUZZ_TARGETS and a file of its name beside this one; seeds are in corpus/<name>/.
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
    bool (*run)(std::string_view bytes);  ///< whether the bytes were such a file
};

#define DIOPI_FUZZ_ROW(name) Target{#name, name},
inline constexpr std::array kTargets = {DIOPI_FUZZ_TARGETS(DIOPI_FUZZ_ROW)};
#undef DIOPI_FUZZ_ROW

/// The target of that name, null when there is none.
inline const Target* find_target(std::string_view name) {
    for (const Target& target : kTargets) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

}  // namespace diopi::fuzz
