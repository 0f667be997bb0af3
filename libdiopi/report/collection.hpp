/// The list of the cases of a run that is not made (diopi test --collect-only).
#pragma once

#include <string>
#include <vector>

namespace diopi {

struct CollectedCase {
    std::string id;
    std::string obstacle;  ///< "skipped: uses float64 (--filter-dtype)", "not implemented"; empty: it would run
};

/// A line per case, and their number; `is_quiet`: the ids of those that would run and nothing else.
[[nodiscard]] std::string collection_text(const std::vector<CollectedCase>& cases, bool is_quiet);
/// {"cases": [{"case", "obstacle"}]}
[[nodiscard]] std::string collection_json(const std::vector<CollectedCase>& cases);

}  // namespace diopi
