/// Shards: one selection of cases, partitioned into parts of about the same time, one for each machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"
#include "conformance/cost.hpp"
#include "journal/shard_label.hpp"

namespace diopi {

/// The facts that the journals of all shards of one run have in common.
struct Selection {
    int64_t cases = 0;  ///< number in the whole selection
    /// XXH64 over the ids in their order, and over which of them are skipped.
    std::string checksum;
};

/// Positions of the cases of one shard, ascending. Cases are assigned, the longest first, each to the shard with the
/// least total so far. This depends only on ids and costs: not on the machine or the order of the cases. Every case is
/// in exactly one of the shards 1/N to N/N. `costs` come from cost_of; ids must be unique.
[[nodiscard]] std::vector<size_t> shard_of(const std::vector<std::string>& ids, const std::vector<int64_t>& costs,
                                           Shard shard);

/// The selection as a whole.
[[nodiscard]] Selection describe_selection(const std::vector<Case>& cases, const SkipReason& skipped);

/// Keeps only the shard's cases of a selection, in their order.
void keep_shard(std::vector<Case>& cases, Shard shard, const Backend& backend, const SkipReason& skipped);

}  // namespace diopi
