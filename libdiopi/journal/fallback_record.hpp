/// The result of fallback-sim for a step of a model; a worker sends it to its parent as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_text.hpp"

namespace diopi {

/// The reason why a call did not stay on its device.
enum class FallbackReason {
    kForced,          ///< the user listed it
    kNotImplemented,  ///< the backend has no such function
    kDeclined         ///< the backend has the function, but declined these arguments
};
/// "forced", "not implemented", "declined".
[[nodiscard]] std::string_view name(FallbackReason reason);

/// Copies from one device to another.
struct Transfers {
    int64_t copies = 0;
    int64_t nbytes = 0;
    double seconds = 0;

    Transfers& operator+=(const Transfers& other) {
        copies += other.copies;
        nbytes += other.nbytes;
        seconds += other.seconds;
        return *this;
    }
};

/// Calls that fell back, grouped by the framework's name.
struct FallbackRow {
    std::string overload, function;
    FallbackReason reason = FallbackReason::kForced;
    int64_t calls = 0;
    Transfers in, out;          ///< copies of all calls in one iteration
    double device_seconds = 0;  ///< time of the same calls on the device, if it has them
    double other_seconds = 0;
};

/// A result of the capture that differs with the fallback.
struct ChangedResult {
    std::string tensor;  ///< its label or id
    double max_abs = 0, max_rel = 0;
    bool within = true;  ///< within the tolerance
};

struct FallbackRecord {
    std::string backend, other;  ///< the device, and where its calls fall back to
    int64_t calls = 0;
    std::vector<FallbackRow> rows;  ///< the most expensive ones first
    /// Overloads that no library implements, with their calls: their outputs were drawn.
    std::map<std::string, int64_t> missing;
    double step_seconds = 0, step_seconds_with = 0;  ///< medians, without and with the forced fallback
    /// The same in elapsed time, if the simulated device waits; else 0.
    double waited_seconds = 0, waited_seconds_with = 0;
    int64_t results = 0;
    std::vector<ChangedResult> changed;
    std::vector<std::string> unmatched;  ///< items of the lists that matched no call
    /// A line for each fallback of one iteration in the standard's own format, if requested.
    std::vector<std::string> lines;
};

/// Conversion to JSON and back: `fallback-sim --json` prints it. The reader throws an exception for another text.
[[nodiscard]] std::string to_json(const FallbackRecord& record);
[[nodiscard]] FallbackRecord fallback_from_json(const std::string& text);
[[nodiscard]] FallbackRecord fallback_record_of(const Json& json);

}  // namespace diopi
