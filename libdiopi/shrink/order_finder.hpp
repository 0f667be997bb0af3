/// Finds cases whose verdict depends on earlier cases in their process (docs/shrink.md).
#pragma once

#include <cstdint>
#include <functional>
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
    RunOrder order;             ///< of the run
    uint64_t shuffle_seed = 0;  ///< of the shuffled one
    double search_s = 60;       ///< for what one case depends on: no attempt starts later
    /// The current action and its progress.
    std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// A case that does not always get the same verdict. Positions are those of the cases given.
struct OrderDependence {
    size_t item = 0;
    Verdict in_run = Verdict::kPassed, shuffled = Verdict::kPassed, alone = Verdict::kPassed;
    /// Alone, it has two different verdicts, too: no order explains this.
    bool unsteady = false;
    /// The fewest cases found behind which it gets `verdict`, which is not `alone`, in their order; empty: none found.
    std::vector<size_t> before;
    Verdict verdict = Verdict::kPassed;
    bool fewest = true;  ///< without any one of `before` it gets another verdict; false: time was up
};

struct OrderReport {
    std::vector<OrderDependence> found;  ///< in the order of the cases
    int64_t failures = 0;                ///< cases that fail alone
    bool interrupted = false;
    double seconds = 0;
};

/// What is shown of it; `options` is what repeats a case of the run.
[[nodiscard]] OrderRecord to_record(const OrderReport& report, const std::vector<Case>& cases,
                                    const std::string& options);

/// Runs every case in the run's order, shuffled, and alone in a process of its own; then searches the predecessors of
/// each case whose verdict differs, in the worker where it did, by delta debugging.
[[nodiscard]] Result<OrderReport> find_order_dependence(const std::vector<Case>& cases, const OrderOptions& options);

}  // namespace diopi
