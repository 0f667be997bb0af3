#include "conformance/run_order.hpp"

#include <algorithm>
#include <functional>

#include "conformance/cost.hpp"
#include "core/philox.hpp"

namespace diopi {

namespace {

void sort_by_cost(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend) {
    std::vector<int64_t> costs(cases.size());
    for (const size_t i : items) costs[i] = cost_of(cases[i], backend);
    std::ranges::stable_sort(items, std::greater(), [&](size_t i) { return costs[i]; });
}

/// Shuffles by Fisher and Yates, from the back: place i gets one of the items up to i.
void shuffle(std::vector<size_t>& items, uint64_t seed) {
    for (size_t i = items.size(); i-- > 1;) {
        const auto words = philox(seed, i, 0);
        const uint64_t number = (uint64_t{words[0]} << 32) | words[1];
        std::swap(items[i], items[number % (i + 1)]);
    }
}

}  // namespace

void arrange(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend,
             const RunOrder& order) {
    switch (order.by) {
        case RunOrder::By::kCost:
            return sort_by_cost(items, cases, backend);
        case RunOrder::By::kShuffle:
            return shuffle(items, order.seed);
        case RunOrder::By::kGiven:
            return;
    }
}

}  // namespace diopi
