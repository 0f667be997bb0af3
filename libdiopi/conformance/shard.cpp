#include "conformance/shard.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "conformance/cost.hpp"
#include "file/checksum.hpp"

namespace diopi {

namespace {

/// The shard of each case, counted from 0.
std::vector<int64_t> partition(const std::vector<std::string>& ids, const std::vector<int64_t>& costs, int64_t count) {
    std::vector<size_t> longest_first(ids.size());
    std::iota(longest_first.begin(), longest_first.end(), size_t{0});
    std::ranges::sort(longest_first,
                      [&](size_t a, size_t b) { return costs[a] != costs[b] ? costs[a] > costs[b] : ids[a] < ids[b]; });
    using Load = std::pair<int64_t, int64_t>;  // cost so far, number of the shard
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (int64_t number = 0; number < count; ++number) loads.emplace(0, number);
    std::vector<int64_t> shards(ids.size());
    for (const size_t i : longest_first) {
        const auto [load, number] = loads.top();
        loads.pop();
        shards[i] = number;
        loads.emplace(load + costs[i], number);
    }
    return shards;
}

}  // namespace

std::vector<size_t> shard_of(const std::vector<std::string>& ids, const std::vector<int64_t>& costs, Shard shard) {
    const std::vector<int64_t> shards = partition(ids, costs, shard.count);
    std::vector<size_t> chosen;
    for (size_t i = 0; i < shards.size(); ++i) {
        if (shards[i] == shard.number - 1) chosen.push_back(i);
    }
    return chosen;
}

Selection describe_selection(const std::vector<Case>& cases, const SkipReason& skipped) {
    Checksum sum;
    for (const Case& c : cases) {
        const std::string line = c.id() + (skipped(c) ? " skipped\n" : "\n");
        sum.update(line.data(), line.size());
    }
    return {static_cast<int64_t>(cases.size()), sum.hex()};
}

void keep_shard(std::vector<Case>& cases, Shard shard, const Backend& backend, const SkipReason& skipped) {
    std::vector<std::string> ids;
    std::vector<int64_t> costs;
    for (const Case& c : cases) {
        ids.push_back(c.id());
        costs.push_back(skipped(c) ? kCostOfNothing : cost_of(c, backend));
    }
    std::vector<Case> kept;
    for (const size_t i : shard_of(ids, costs, shard)) kept.push_back(std::move(cases[i]));
    cases = std::move(kept);
}

}  // namespace diopi
