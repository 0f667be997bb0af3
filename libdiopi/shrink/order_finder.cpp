#include "shrink/order_finder.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "core/stopwatch.hpp"

namespace diopi {

namespace {

/// One pass over all cases.
struct Pass {
    std::optional<uint64_t> addresses;
    std::vector<Verdict> verdicts;                     ///< by position of the case
    std::vector<int64_t> workers;                      ///< the process of each case
    std::map<int64_t, std::vector<size_t>> by_worker;  ///< the cases of each process, in its order

    /// The cases that ran before this one in its process.
    [[nodiscard]] std::vector<size_t> predecessors(size_t item) const {
        const std::vector<size_t>& all = by_worker.at(workers[item]);
        return {all.begin(), std::ranges::find(all, item)};
    }
};

enum class Process { kLongLived, kOneForEach };

class OrderFinder {
 public:
    OrderFinder(const std::vector<Case>& cases, const OrderOptions& options) : cases_(cases), options_(options) {}

    Result<OrderReport> run() {
        std::vector<size_t> given(cases_.size());
        std::iota(given.begin(), given.end(), size_t{0});
        std::vector<size_t> in_order = given, shuffled = given;
        const Backend& backend = *options_.worker.cases.backend;
        arrange(in_order, cases_, backend, options_.order);
        arrange(shuffled, cases_, backend, {RunOrder::By::kShuffle, options_.shuffle_seed});
        seconds_.assign(cases_.size(), 0);
        const Pass in_run = pass("in the run's order", in_order, options_.pool.jobs, Process::kLongLived);
        const Pass mixed = pass("shuffled", shuffled, options_.pool.jobs, Process::kLongLived, options_.shuffle_seed);
        const Pass alone = pass("alone", given, options_.pool.jobs, Process::kOneForEach);
        for (const size_t item : given) {
            if (!may_go_on()) break;
            if (is_failure(alone.verdicts[item])) ++report_.failures;
            const Verdict one = in_run.verdicts[item], two = mixed.verdicts[item], three = alone.verdicts[item];
            if (one == three && two == three) continue;
            OrderDependence& found = report_.found.emplace_back();
            found.item = item;
            found.in_run = one;
            found.shuffled = two;
            found.alone = three;
        }
        for (size_t i = 0; i < report_.found.size() && may_go_on(); ++i) {
            say("what " + cases_[report_.found[i].item].id() + " depends on", i, report_.found.size());
            explain(report_.found[i], in_run, mixed);
        }
        if (!status_.ok()) return status_.error();
        report_.interrupted = interrupted();
        report_.seconds = watch_.seconds();
        return std::move(report_);
    }

 private:
    [[nodiscard]] bool may_go_on() const { return status_.ok() && !interrupted(); }

    void say(std::string_view what, size_t done, size_t total) const {
        if (options_.progress) options_.progress(what, static_cast<int64_t>(done), static_cast<int64_t>(total));
    }

    Pass pass(std::string_view what, const std::vector<size_t>& items, int jobs, Process process,
              std::optional<uint64_t> addresses = {}) {
        Pass pass;
        pass.addresses = addresses;
        pass.verdicts.resize(cases_.size());
        pass.workers.resize(cases_.size());
        if (!may_go_on()) return pass;
        PoolOptions pool = options_.pool;
        pool.jobs = jobs;
        CaseWorkerOptions worker_options = options_.worker;
        worker_options.cases.addresses = addresses;
        CaseWorker worker(worker_options);
        size_t ended = 0;
        const auto work = [&](size_t item) {
            WorkAnswer answer = worker.work(cases_[item]);
            answer.last = answer.last || process == Process::kOneForEach;
            return answer;
        };
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) {
            const CaseResult result = worker.result_of(cases_[item], outcome);
            pass.verdicts[item] = result.verdict;
            pass.workers[item] = outcome.worker;
            pass.by_worker[outcome.worker].push_back(item);
            const bool hung = outcome.end == WorkOutcome::End::kTimeout;
            seconds_[item] = std::max(seconds_[item], hung ? pool.timeout_s : result.seconds);
            if (!what.empty()) say(what, ++ended, items.size());
            return Status();
        };
        if (Status s = run_in_workers(items, pool, work, done); !s.ok()) status_ = s;
        return pass;
    }

    /// The case's verdict after these, all in one process; nullopt when it was not reached.
    std::optional<Verdict> verdict_behind(std::vector<size_t> before, size_t item,
                                          std::optional<uint64_t> addresses = {}) {
        before.push_back(item);
        const Pass trial = pass("", before, 1, Process::kLongLived, addresses);
        if (!may_go_on() || trial.workers[item] != trial.workers[before.front()]) return std::nullopt;
        return trial.verdicts[item];
    }

    /// Whether there is time to run these again.
    [[nodiscard]] bool has_time(const std::vector<size_t>& items) const {
        double needed = 0;
        for (const size_t item : items) needed += seconds_[item];
        return may_go_on() && search_.seconds() + needed < options_.search_s;
    }

    void explain(OrderDependence& found, const Pass& in_run, const Pass& mixed) {
        search_.restart();
        const auto again = verdict_behind({}, found.item);
        found.flaky = again && *again != found.alone;
        if (found.flaky || depends_on_addresses(found)) return;
        for (const Pass* pass : {&in_run, &mixed}) {
            const Verdict verdict = pass->verdicts[found.item];
            if (verdict == found.alone || !found.before.empty()) continue;
            found.verdict = verdict;
            found.addresses = pass->addresses;
            found.before = shortest_tail(pass->predecessors(found.item), found);
            if (found.before.empty()) found.addresses.reset();
        }
        minimise(found);
    }

    /// Whether it gets another verdict alone, at the addresses of the shuffled run or at a few others.
    bool depends_on_addresses(OrderDependence& found) {
        constexpr uint64_t kTrials = 4;
        for (uint64_t i = 0; i < kTrials && has_time({found.item}); ++i) {
            found.addresses = options_.shuffle_seed + i;
            const auto verdict = verdict_behind({}, found.item, found.addresses);
            if (!verdict || *verdict == found.alone) continue;
            found.verdict = *verdict;
            return true;
        }
        found.addresses.reset();
        return false;
    }

    /// The last 1, 2, 4, ... predecessors after which the case gets the verdict; empty if no such set does it.
    std::vector<size_t> shortest_tail(const std::vector<size_t>& predecessors, OrderDependence& found) {
        for (size_t size = 1;; size *= 2) {
            const size_t taken = std::min(size, predecessors.size());
            std::vector<size_t> tail(predecessors.end() - static_cast<std::ptrdiff_t>(taken), predecessors.end());
            if (tail.empty()) return {};
            if (!has_time(tail)) {
                found.fewest = false;
                return {};
            }
            if (verdict_behind(tail, found.item, found.addresses) == found.verdict) return tail;
            if (taken == predecessors.size()) return {};
        }
    }

    /// Delta debugging: removes halves, quarters, ..., single cases, as long as the verdict stays.
    void minimise(OrderDependence& found) {
        for (size_t chunk = found.before.size() / 2; chunk > 0;) {
            const size_t former = found.before.size();
            for (size_t first = 0; first < found.before.size() && found.before.size() > 1;) {
                std::vector<size_t> fewer = found.before;
                const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(first);
                fewer.erase(from, from + static_cast<std::ptrdiff_t>(std::min(chunk, fewer.size() - first)));
                if (!has_time(fewer)) {
                    found.fewest = false;
                    return;
                }
                if (!fewer.empty() && verdict_behind(fewer, found.item, found.addresses) == found.verdict) {
                    found.before = std::move(fewer);
                } else {
                    first += chunk;
                }
            }
            if (chunk > 1) {
                chunk /= 2;
            } else if (found.before.size() == former) {
                return;
            }
        }
    }

    const std::vector<Case>& cases_;
    const OrderOptions& options_;
    const Stopwatch watch_;
    Stopwatch search_;             ///< runs during the search for one case
    std::vector<double> seconds_;  ///< the longest time of each case
    OrderReport report_;
    Status status_;
};

}  // namespace

Result<OrderReport> find_order_dependence(const std::vector<Case>& cases, const OrderOptions& options) {
    return OrderFinder(cases, options).run();
}

OrderRecord to_record(const OrderReport& report, const std::vector<Case>& cases, const std::string& options) {
    OrderRecord record{{}, cases.size(), report.failures, report.seconds, options};
    for (const OrderDependence& found : report.found) {
        OrderFinding& finding = record.found.emplace_back();
        finding.case_id = cases[found.item].id();
        finding.in_run = found.in_run;
        finding.shuffled = found.shuffled;
        finding.alone = found.alone;
        finding.flaky = found.flaky;
        for (const size_t item : found.before) finding.after.push_back(cases[item].id());
        finding.addresses = found.addresses;
        finding.verdict = found.verdict;
        finding.fewest = found.fewest;
    }
    return record;
}

}  // namespace diopi
