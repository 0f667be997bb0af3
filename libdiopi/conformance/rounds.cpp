#include "conformance/rounds.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/stopwatch.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

/// Results by case. A failure is kept, whatever later rounds say.
class Merged {
 public:
    void add(std::vector<CaseResult> results) {
        for (CaseResult& result : results) {
            const auto [at, is_new] = positions_.try_emplace(result.case_id, all_.size());
            if (is_new) {
                all_.push_back(std::move(result));
            } else if (!is_failure(all_[at->second].verdict)) {
                all_[at->second] = std::move(result);
            }
        }
    }
    std::vector<CaseResult> take() { return std::move(all_); }

 private:
    std::vector<CaseResult> all_;
    std::unordered_map<std::string, size_t> positions_;
};

}  // namespace

Result<ConformanceRun> run_rounds(const Rounds& rounds, ConformanceOptions options,
                                  const std::function<void(uint64_t, int64_t)>& on_round,
                                  const std::function<void(const CaseResult&, int64_t, int64_t)>& on_result) {
    const Stopwatch watch;
    options.cases.hashes = true;
    Merged merged;
    ConformanceRun all;
    std::map<std::string, uint64_t> hashes;
    const int64_t most = options.max_failures;
    int64_t failures = 0;
    const auto goes_on = [&] {
        return watch.seconds() < rounds.seconds && !all.interrupted && (most == 0 || failures < most);
    };
    for (uint64_t round = 0; round == 0 || goes_on(); ++round) {
        std::vector<Case> cases = round == 0 ? rounds.first : rounds.next(round);
        if (round > 0) {
            cases.insert(cases.end(), rounds.repeated.begin(), rounds.repeated.end());
            options.append = true;
            options.hashes = &hashes;
            options.order = {RunOrder::By::kShuffle, round};
        }
        options.budget_s = rounds.seconds - watch.seconds();
        options.max_failures = most == 0 ? 0 : most - failures;
        on_round(round, static_cast<int64_t>(cases.size()));
        auto run = run_conformance(cases, options, on_result);
        if (!run.ok()) return run;
        for (const CaseResult& result : run->results) {
            failures += is_failure(result.verdict) ? 1 : 0;
            if (round == 0 && result.hash != 0) hashes[result.case_id] = result.hash;
        }
        all.interrupted = run->interrupted;
        merged.add(std::move(run->results));
    }
    all.results = merged.take();
    all.seconds = watch.seconds();
    return all;
}

}  // namespace diopi
