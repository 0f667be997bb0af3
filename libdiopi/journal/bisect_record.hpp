/// What `fallback-sim --bisect` found out: which functions and calls of a capture are to blame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diopi {

/// How a search for the units to blame ended.
enum class SearchEnd {
    kFound,         ///< the set passes, and none of its units can be left out
    kNothingWrong,  ///< it passes without any fallback
    kElsewhere,     ///< it fails though everything falls back
    kNotMonotone,   ///< the set passes, but a unit's fallback makes others fail: it may not be the smallest
    kTooMany,       ///< the replays were used up: the set holds the first units to blame, there are more
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

    SearchEnd end = SearchEnd::kFound;  ///< of the search over functions
    std::string reason;                 ///< of the failure without fallback; of the one with all, where that fails
    bool flaky = false;
    std::vector<Function> functions;
    std::optional<SearchEnd> calls_end;  ///< of the search over their calls; nullopt: there was none
    std::vector<CapturedCall> calls;
    int replays = 0;
    size_t function_units = 0, call_units = 0;  ///< among which was searched
};

}  // namespace diopi
