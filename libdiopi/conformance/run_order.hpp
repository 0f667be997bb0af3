/// The order in which the cases of a run are given to its workers. Reports always list them in the same other order.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"

namespace diopi {

struct RunOrder {
    enum class By {
        kCost,     ///< the longest first, so that no long case runs alone at the end
        kShuffle,  ///< a random order from the seed
        kGiven     ///< as the cases come
    };
    By by = By::kCost;
    uint64_t seed = 0;
};

/// Arranges positions of `cases`.
void arrange(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend, const RunOrder& order);

}  // namespace diopi
