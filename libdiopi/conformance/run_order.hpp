/// The order in which the cases of a run are handed to its workers. Reports list them in another one, always the same.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"

namespace diopi {

struct RunOrder {
    enum class By {
        kCost,     ///< the long ones first, so that no worker is left alone with one at the end
        kShuffle,  ///< any order, all equally likely, that the seed decides
        kGiven     ///< as the cases come
    };
    By by = By::kCost;
    uint64_t seed = 0;
};

/// Arranges positions of `cases`.
void arrange(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend, const RunOrder& order);

}  // namespace diopi
