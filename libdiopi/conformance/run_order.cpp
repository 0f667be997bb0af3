#include "conformance/run_order.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <string_view>
#include <utility>

#include "conformance/cost.hpp"
#include "core/philox.hpp"

namespace diopi {

namespace {

void sort_by_cost(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend) {
    std::vector<int64_t> costs(cases.size());
    for (const size_t i : items) costs[i] = cost_of(cases[i], backend);
    std::ranges::stable_sort(items, std::greater(), [&](size_t i) { return costs[i]; });
}

/// The hard cases of an operator in their order, two for each of the standard's, whose quick ones come first; and the
/// operators by turns.
void sort_by_value(std::vector<size_t>& items, const std::vector<Case>& cases, const Backend& backend) {
    constexpr int64_t kHardOnes = 2;
    std::vector<size_t> quick = items;
    sort_by_cost(quick, cases, backend);
    std::ranges::reverse(quick);
    std::map<std::string_view, int64_t> standard, hard;
    std::vector<std::pair<int64_t, size_t>> placed;
    for (const size_t i : items) {
        if (cases[i].suite == kHardSuite) placed.emplace_back(hard[cases[i].op]++, i);
    }
    for (const size_t i : quick) {
        if (cases[i].suite != kHardSuite) placed.emplace_back(kHardOnes * standard[cases[i].op]++, i);
    }
    std::ranges::stable_sort(placed, {}, [](const auto& each) { return each.first; });
    for (size_t i = 0; i < placed.size(); ++i) items[i] = placed[i].second;
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
        case RunOrder::By::kQuick:
            sort_by_cost(items, cases, backend);
            std::ranges::reverse(items);
            return;
        case RunOrder::By::kValue:
            return sort_by_value(items, cases, backend);
        case RunOrder::By::kShuffle:
            return shuffle(items, order.seed);
        case RunOrder::By::kGiven:
            return;
    }
}

std::vector<size_t> kept_memory(const std::vector<size_t>& items, const std::function<int64_t(size_t)>& needs,
                                size_t cases) {
    std::vector<size_t> kept(cases);
    size_t most = size_t{512} << 20;
    for (const size_t item : items | std::views::reverse) {
        most = std::max(most, static_cast<size_t>(needs(item)));
        kept[item] = most;
    }
    return kept;
}

}  // namespace diopi
