/// Finds cases whose verdict depends on earlier cases in their process (docs/shrink.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/case_worker.hpp"
#include "conformance/run_order.hpp"
#include "core/status.hpp"
#include "journal/order_record.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

struct OrderOptions {
    CaseWorkerOptions worker;
    PoolOptions pool;
    RunOrder order;             ///< order of the run
    uint64_t shuffle_seed = 0;  ///< seed of the shuffled run, and of its addresses
    double search_s = 60;       ///< time limit of the search for one case: no attempt starts later
    /// The current action and its progress.
    std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// A case whose verdict varies. Positions are those in the given cases.
struct OrderDependence {
    size_t item = 0;
    Verdict in_run = Verdict::kPassed, shuffled = Verdict::kPassed, alone = Verdict::kPassed;
    /// The verdict also varies when the case runs alone, so that no order explains it.
    bool flaky = false;
    /// The smallest known set of cases after which it gets `verdict`, which is not `alone`; empty: none found.
    std::vector<size_t> before;
    /// The seed of addresses (CaseOptions) at which it gets `verdict`: alone, or after those cases.
    std::optional<uint64_t> addresses;
    Verdict verdict = Verdict::kPassed;
    bool fewest = true;  ///< without any one of `before` it gets another verdict; false: time ran out
};

struct OrderReport {
    std::vector<OrderDependence> found;  ///< in the order of the cases
    int64_t failures = 0;                ///< cases that fail alone
    bool interrupted = false;
    double seconds = 0;
};

/// Converts to a record for output; `options` repeat a case of the run.
[[nodiscard]] OrderRecord to_record(const OrderReport& report, const std::vector<Case>& cases,
                                    const std::string& options);

/// Runs every case in the run's order, shuffled with memory at other addresses, and alone in a process of its own. Then
/// searches the cause of each verdict that differs: other addresses, or, by delta debugging, the predecessors in that
/// worker.
[[nodiscard]] Result<OrderReport> find_order_dependence(const std::vector<Case>& cases, const OrderOptions& options);

}  // namespace diopi
