/// The result of `fallback-sim --bisect`: the functions and calls of a capture that cause a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diopi {

/// The end of a search for the faulty units.
enum class SearchEnd {
    kFound,         ///< the set passes, and every unit in it is needed
    kNothingWrong,  ///< the capture passes without any fallback
    kElsewhere,     ///< it fails even when everything falls back
    kNotMonotone,   ///< the set passes, but a unit's fallback makes others fail: it may not be the smallest
    kTooMany,       ///< the limit of replays was reached: the set has the first faulty units, there are more
    kInterrupted
};
/// "found", "nothing wrong", "elsewhere", "not monotone", "too many", "interrupted".
[[nodiscard]] std::string_view name(SearchEnd end);

struct BisectRecord {
    struct Function {
        std::string function;
        std::vector<std::string> overloads;  ///< in the order of their first calls
        int64_t calls = 0;
    };
    struct CapturedCall {
        size_t number = 0;  ///< its position in the capture
        std::string overload, function, layer, source;
    };

    std::string backend, other;         ///< the device, and where its calls fall back to
    SearchEnd end = SearchEnd::kFound;  ///< end of the search over functions
    std::string reason;                 ///< failure without fallback, or with a full one
    bool flaky = false;
    std::vector<Function> functions;
    std::optional<SearchEnd> calls_end;  ///< end of the search over their calls; nullopt: there was none
    std::vector<CapturedCall> calls;
    int replays = 0;
    size_t function_units = 0, call_units = 0;  ///< number of units that were searched
};

}  // namespace diopi
