/// The order in which workers get the cases of a run. Reports always have their own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"

namespace diopi {

struct RunOrder {
    enum class By {
        kCost,   ///< the longest first, so that no long case runs alone at the end
        kQuick,  ///< the quickest first, so that a run of all models has most of its verdicts early
        kValue,  ///< of each operator one after the other, the hard and the quick ones first: the earliest see the most
        kShuffle,  ///< a random order from the seed
        kGiven     ///< in the given order
    };
    By by = By::kCost;
    uint64_t seed = 0;
};

/// Arranges positions of `cases`.
void arrange(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend, const RunOrder& order);

/// The bytes of freed memory that a worker may keep when it begins a case, by the position of the case: the most that
/// this item or a later one needs, and at least half a gigabyte.
[[nodiscard]] std::vector<size_t> kept_memory(const std::vector<size_t>& items,
                                              const std::function<int64_t(size_t)>& needs, size_t cases);

}  // namespace diopi
