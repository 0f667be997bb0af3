#include "campaign.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "core/stopwatch.hpp"
#include "step/case_run.hpp"
#include "worker/worker_pool.hpp"
#include "worker/worker_setup.hpp"

namespace diopi::mutation {

namespace {

using Json = nlohmann::json;

/// An item is a candidate and a fault, or all faults that return.
constexpr size_t kFaultsPerItem = 128;
constexpr size_t kAllFaults = kFaultsPerItem - 1;
constexpr double kTimeout_s = 120;
/// The number of runs for a fault that may end its process.
constexpr int kMostTries = 4;
/// Hanging workers sleep, so that many may run at the same time.
constexpr int kHangingJobs = 8;

/// Words of messages and the checks that print them.
struct CheckWords {
    std::string_view words, check;
};
constexpr CheckWords kChecks[] = {
    {"past the end of", "guards"},
    {"before the start of", "guards"},
    {"between the elements", "guards"},
    {"was modified", "inputs"},
    {"never written", "poison"},
    {"the second run failed", "repeat"},
    {"runs on the same", "repeat"},
    {"a second run is wrong", "repeat"},
    {"same generator state", "repeat"},
    {"bytes of memory at each", "leaks"},
    {"generator", "generator"},
    {"shape (", "shape"},
    {"dtype ", "dtype"},
    {"standard output", "output"},
    {"NaN", "NaN/Inf"},
    {"inf", "NaN/Inf"},
    {"elements differ", "values"},
    {"standard deviation", "law"},
    {"mean", "law"},
    {"Kolmogorov", "law"},
    {"second time", "law"},
};

/// Flags for the faults that a run has seen, shared with the workers: one for each function and fault.
class SeenFlags {
 public:
    SeenFlags(size_t functions, size_t faults) : faults_(faults), size_(functions * faults) {
        memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    ~SeenFlags() {
        if (memory_ != MAP_FAILED) munmap(memory_, size_);
    }
    SeenFlags(const SeenFlags&) = delete;
    SeenFlags& operator=(const SeenFlags&) = delete;

    [[nodiscard]] std::atomic<char>& operator()(size_t function, size_t fault) {
        return static_cast<std::atomic<char>*>(memory_)[function * faults_ + fault];
    }
    [[nodiscard]] bool ok() const { return memory_ != MAP_FAILED; }

 private:
    size_t faults_, size_;
    void* memory_;
};

class Campaign {
 public:
    Campaign(const std::vector<Candidate>& candidates, const CampaignOptions& options)
        : candidates_(candidates),
          options_(options),
          functions_(functions_of(candidates)),
          seen_(functions_.size() + 1, options.faults.size() + 1),
          sound_(candidates.size(), false) {
        for (const Row* row : functions_) {
            record_.functions.push_back({row, std::vector<Detection>(options.faults.size())});
        }
    }

    Result<CampaignRecord> run() {
        const Stopwatch watch;
        auto backend = find_backend("cpu");
        if (!backend.ok()) return backend.error();
        backend_ = *backend;
        if (!seen_.ok()) return failed("no shared memory for the campaign");
        for (const Ending ending : {Ending::kReturns, Ending::kDies, Ending::kHangs}) {
            if (Status s = run_phase(ending); !s.ok()) return s.error();
        }
        record_.seconds = watch.seconds();
        return std::move(record_);
    }

 private:
    static std::vector<const Row*> functions_of(const std::vector<Candidate>& candidates) {
        std::vector<const Row*> rows;
        for (const Candidate& x : candidates) {
            if (std::ranges::find(rows, x.row) == rows.end()) rows.push_back(x.row);
        }
        return rows;
    }
    size_t function_of(size_t candidate) const {
        const auto found = std::ranges::find(functions_, candidates_[candidate].row);
        return static_cast<size_t>(found - functions_.begin());
    }
    static bool applies(const Fault& fault, const Row& row) { return fault.applies == nullptr || fault.applies(row); }

    // ---- the order of the work ----

    /// The k-th run of every function precedes the (k+1)-th of any: a fault that is seen early need not run again.
    std::vector<size_t> runs_in_turns() const {
        std::vector<int64_t> rank(candidates_.size());
        std::vector<int64_t> next(functions_.size(), 0);
        for (size_t i = 0; i < candidates_.size(); ++i) rank[i] = next[function_of(i)]++;
        std::vector<size_t> order(candidates_.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::stable_sort(order, {}, [&](size_t i) { return rank[i]; });
        return order;
    }

    /// The next run of a function, behind `after`, in which a fault that needs its own worker may strike.
    std::vector<size_t> next_try(size_t function, size_t fault, int64_t after) {
        const bool needs_empty = options_.faults[fault]->name == "crash_empty";
        for (size_t i = static_cast<size_t>(after + 1); i < candidates_.size(); ++i) {
            const auto empty = [](const TensorSpec& spec) { return numel(spec.shape) == 0; };
            const auto has_empty = [&](const CaseTensor& t) { return std::ranges::any_of(t.specs, empty); };
            if (function_of(i) != function || !sound_[i]) continue;
            if (needs_empty != std::ranges::any_of(candidates_[i].c.tensors, has_empty)) continue;
            return {i * kFaultsPerItem + fault};
        }
        return {};
    }

    std::vector<size_t> items_of(Ending ending) {
        std::vector<size_t> items;
        if (ending == Ending::kReturns) {
            for (const size_t i : runs_in_turns()) items.push_back(i * kFaultsPerItem + kAllFaults);
            return items;
        }
        for (size_t fault = 0; fault < options_.faults.size(); ++fault) {
            if (options_.faults[fault]->ending != ending) continue;
            for (size_t f = 0; f < functions_.size(); ++f) {
                if (!applies(*options_.faults[fault], *functions_[f])) continue;
                const auto item = next_try(f, fault, -1);
                items.insert(items.end(), item.begin(), item.end());
            }
        }
        return items;
    }

    Status run_phase(Ending ending) {
        PoolOptions pool;
        pool.jobs = ending == Ending::kHangs ? kHangingJobs : options_.jobs;
        pool.timeout_s = ending == Ending::kHangs ? options_.hang_s : kTimeout_s;
        // A wide tensor reserves gigabytes and uses few of them.
        pool.memory_limit = 0;
        tries_.assign(functions_.size() * options_.faults.size(), 0);
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>& more) {
            note(item, outcome, more);
            return Status();
        };
        return run_in_workers(
            items_of(ending), pool, [&](size_t item) { return work(item); }, done);
    }

    // ---- in the worker ----

    /// The step's verdict and reason, and whether the fault struck.
    struct Trial {
        StepResult step;
        bool planted = false;
    };

    Trial try_fault(const Candidate& candidate, const Fault* fault) const {
        Faulty faulty(*candidate.row, fault);
        CaseOptions options;
        options.backend = backend_;
        options.seed = options_.seed;
        options.interceptors = {&faulty};
        const CaseResult result = run_case(candidate.c, options);
        for (const StepResult& step : result.steps) {
            if (step.step == candidate.step) return {step, faulty.planted()};
        }
        StepResult refused;
        refused.verdict = result.verdict;
        refused.reason = result.reason;
        return {refused, faulty.planted()};
    }

    WorkAnswer work(size_t item) {
        set_up_worker();
        const Candidate& candidate = candidates_[item / kFaultsPerItem];
        const size_t only = item % kFaultsPerItem;
        const size_t function = function_of(item / kFaultsPerItem);
        Json answer = Json::object();
        if (only == kAllFaults) {
            const Trial clean = try_fault(candidate, nullptr);
            answer["clean"] = {static_cast<int>(clean.step.verdict), clean.step.reason};
            if (clean.step.verdict != Verdict::kPassed) return {answer.dump(), false};
        }
        for (size_t f = 0; f < options_.faults.size(); ++f) {
            const Fault& fault = *options_.faults[f];
            const bool chosen = only == kAllFaults ? fault.ending == Ending::kReturns : f == only;
            if (!chosen || !applies(fault, *candidate.row) || seen_(function, f) != 0) continue;
            const Trial trial = try_fault(candidate, &fault);
            answer["trials"].push_back({f, trial.planted, trial.step.verdict == Verdict::kFailed, trial.step.reason});
        }
        return {answer.dump(-1, ' ', false, Json::error_handler_t::replace), false};
    }

    // ---- in this process ----

    void note(size_t item, const WorkOutcome& outcome, std::vector<size_t>& more) {
        const size_t candidate = item / kFaultsPerItem, fault = item % kFaultsPerItem;
        if (outcome.end != WorkOutcome::End::kFinished) return note_death(candidate, fault, outcome, more);
        const Json answer = Json::parse(outcome.payload, nullptr, false);
        if (answer.is_discarded()) return;
        if (answer.contains("clean")) note_clean(candidate, answer["clean"]);
        for (const Json& trial : answer.value("trials", Json::array())) {
            const bool printed = !outcome.printed.empty();
            const std::string reason = printed ? outcome.printed : trial[3].get<std::string>();
            note_trial(candidate, trial[0], trial[1], trial[2].get<bool>() || printed, reason, check_of(reason));
        }
        if (fault == kAllFaults) return;
        const size_t function = function_of(candidate);
        const bool again = !record_.functions[function].detections[fault].seen &&
                           ++tries_[function * options_.faults.size() + fault] < kMostTries;
        if (again) more = next_try(function, fault, static_cast<int64_t>(candidate));
    }

    /// If a worker with one fault died, the fault is seen; with several faults, each of them gets a worker.
    void note_death(size_t candidate, size_t fault, const WorkOutcome& outcome, std::vector<size_t>& more) {
        if (fault != kAllFaults) return note_trial(candidate, fault, true, true, outcome.reason, "worker");
        sound_[candidate] = true;
        for (size_t f = 0; f < options_.faults.size(); ++f) {
            const bool open = options_.faults[f]->ending == Ending::kReturns && seen_(function_of(candidate), f) == 0;
            if (open && applies(*options_.faults[f], *candidates_[candidate].row)) {
                more.push_back(candidate * kFaultsPerItem + f);
            }
        }
    }

    void note_clean(size_t candidate, const Json& clean) {
        const Candidate& x = candidates_[candidate];
        const auto verdict = static_cast<Verdict>(clean[0].get<int>());
        sound_[candidate] = verdict == Verdict::kPassed;
        if (verdict != Verdict::kFailed) return;
        record_.false_alarms.push_back(x.c.id() + " " + x.options + " " + x.step + ": " + clean[1].get<std::string>());
    }

    void note_trial(size_t candidate, size_t fault, bool planted, bool is_failure, const std::string& reason,
                    std::string_view check) {
        const size_t function = function_of(candidate);
        Detection& detection = record_.functions[function].detections[fault];
        ++record_.runs;
        if (!planted || detection.seen) return;
        if (!detection.planted) detection.candidate = candidate;
        detection.planted = true;
        if (!is_failure) return;
        detection = {true, true, std::string(check), reason, candidate};
        seen_(function, fault) = 1;
    }

    const std::vector<Candidate>& candidates_;
    const CampaignOptions& options_;
    std::vector<const Row*> functions_;
    SeenFlags seen_;
    std::vector<bool> sound_;  ///< candidates that passed without a fault
    std::vector<int> tries_;
    const Backend* backend_ = nullptr;
    CampaignRecord record_;
};

}  // namespace

std::string_view check_of(std::string_view reason) {
    for (const CheckWords& row : kChecks) {
        if (reason.find(row.words) != std::string_view::npos) return row.check;
    }
    return "error";
}

Result<CampaignRecord> run_campaign(const std::vector<Candidate>& candidates, const CampaignOptions& options) {
    return Campaign(candidates, options).run();
}

}  // namespace diopi::mutation
