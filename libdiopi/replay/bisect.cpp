#include "replay/bisect.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "intercept/fallback.hpp"
#include "replay/capture_results.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

/// Memory that this process and its workers share.
Result<std::shared_ptr<void>> shared_memory(size_t nbytes) {
    void* memory = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return failed(fmt::format("out of memory: {} bytes for the expected results", nbytes));
    return std::shared_ptr<void>(memory, [nbytes](void* p) { munmap(p, nbytes); });
}

class Bisection {
 public:
    Bisection(CaptureReplay& replay, const Capture& capture, const CaptureValues& values, const BisectOptions& options)
        : replay_(replay), capture_(capture), values_(values), options_(options) {}

    Result<BisectReport> run() {
        if (Status s = expect(); !s.ok()) return s.error();
        list_functions();
        report_.function_units = functions_.size();
        DeltaDebuggingOptions options;
        options.repeats = options_.repeats;
        Status s = search(
            functions_.size(), [&](size_t call) { return function_of_[call]; }, options, report_.function_search);
        if (!s.ok()) return s.error();
        for (const size_t unit : report_.function_search.set) report_.functions.push_back(functions_[unit]);
        if (report_.function_search.end != DeltaDebugging::End::kFound) return report_;
        list_calls();
        report_.call_units = calls_.size();
        // The first search has already tried this search's control.
        options.controlled = true;
        options.repeats = report_.function_search.repeats;
        options.most_replays = options_.call_replays > 0 ? options_.call_replays : call_replays() * options.repeats;
        s = search(
            calls_.size(), [&](size_t call) { return unit_of_call(call); }, options, report_.call_search);
        if (!s.ok()) return s.error();
        for (const size_t unit : report_.call_search.set) report_.calls.push_back(calls_[unit]);
        return report_;
    }

 private:
    using UnitOf = std::function<size_t(size_t call)>;

    /// Lists the units of the first search: functions that the other backend can run.
    void list_functions() {
        for (const CapturedCall& call : capture_.calls) {
            const bool movable = call.call && options_.other->implements(*call.call->row);
            function_of_.push_back(movable ? unit_of_function(*call.call->row) : SIZE_MAX);
            if (!movable) continue;
            FaultyFunction& function = functions_[function_of_.back()];
            ++function.calls;
            const bool is_known = std::ranges::count(function.overloads, call.overload) > 0;
            if (!is_known) function.overloads.push_back(call.overload);
        }
    }

    size_t unit_of_function(const Row& row) {
        const auto known = std::ranges::find(functions_, &row, &FaultyFunction::row);
        const auto unit = static_cast<size_t>(known - functions_.begin());
        if (known == functions_.end()) functions_.push_back({&row, {}, 0});
        return unit;
    }

    void list_calls() {
        for (size_t c = 0; c < capture_.calls.size(); ++c) {
            if (std::ranges::count(report_.function_search.set, function_of_[c]) > 0) calls_.push_back(c);
        }
    }

    /// This many replays find two calls. If a function is always wrong, each of its calls would cost as much again.
    [[nodiscard]] int call_replays() const { return 2 * static_cast<int>(std::bit_width(calls_.size() - 1)) + 8; }

    [[nodiscard]] size_t unit_of_call(size_t call) const {
        const auto found = std::ranges::lower_bound(calls_, call);
        return found == calls_.end() || *found != call ? SIZE_MAX : static_cast<size_t>(found - calls_.begin());
    }

    Status search(size_t units, const UnitOf& unit_of, DeltaDebuggingOptions& options, DeltaDebugging& result) {
        options.units = units;
        options.interrupted = interrupted;
        options.replay = [&](const UnitSet& fallback) -> Result<Trial> {
            auto trial = replay_with([&](size_t call) { return std::ranges::binary_search(fallback, unit_of(call)); });
            if (trial.ok() && options_.on_replay) options_.on_replay(fallback.size(), units, *trial);
            return trial;
        };
        auto found = run_delta_debugging(options);
        if (found.ok()) result = std::move(*found);
        return found.status();
    }

    /// Fills in the expected results, in shared memory, each at an offset that is a multiple of 64.
    Status expect() {
        size_t nbytes = 0;
        for (const size_t tensor : replay_.results()) {
            offsets_.push_back(nbytes);
            nbytes += (replay_.placed(tensor).nbytes() + 63) / 64 * 64;
        }
        auto memory = shared_memory(std::max<size_t>(nbytes, 64));
        if (!memory.ok()) return memory.status();
        expected_ = std::move(*memory);
        auto kept = take_kept();
        if (!kept.ok()) return kept.status();
        if (*kept) return {};
        report_.reference_replays = 1;
        const auto run = in_worker([&] { return outcome_of([](size_t) { return true; }, Results::kStored); });
        if (!run.ok()) return run.status();
        return run->passed ? Status()
                           : Status(failed(fmt::format("the replay entirely on {} fails, too, and the capture has no "
                                                       "kept values to compare with: {}",
                                                       options_.other->name(), run->reason)));
    }

    /// Takes the results that were kept with the capture; false if some were not.
    Result<bool> take_kept() {
        if (!values_.any()) return false;
        for (size_t i = 0; i < replay_.results().size(); ++i) {
            auto kept = kept_result(replay_.results()[i]);
            if (!kept.ok()) return kept.error();
            const Tensor& wanted = replay_.placed(replay_.results()[i]);
            if (*kept == nullptr || (*kept)->shape != wanted.shape || (*kept)->dtype != wanted.dtype) return false;
            if (wanted.nbytes() > 0) std::memcpy(slot(i), (*kept)->data(), wanted.nbytes());
        }
        return true;
    }

    Result<TensorPtr> kept_result(size_t tensor) const {
        for (size_t c = capture_.calls.size(); c-- > 0;) {
            for (const TensorUse& use : replay_.uses(c)) {
                if (use.tensor == tensor && use.writes) return values_.result(c, use.place);
            }
        }
        return TensorPtr();
    }

    [[nodiscard]] void* slot(size_t result) const {
        return static_cast<std::byte*>(expected_.get()) + offsets_[result];
    }

    using Wanted = std::function<bool(size_t call)>;

    Result<Trial> replay_with(const Wanted& wanted) {
        return in_worker([&] { return outcome_of(wanted, Results::kCompared); });
    }

    /// Runs `replay` in a worker; its error is the reason why the trial does not pass.
    Result<Trial> in_worker(const std::function<Status()>& replay) {
        PoolOptions pool;
        pool.timeout_s = options_.timeout_s;
        pool.memory_limit = 0;
        Trial trial;
        const auto work = [&](size_t) { return WorkAnswer{.status = replay()}; };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            trial = {outcome.status.ok(), outcome.status.message()};
            return Status();
        };
        if (Status s = run_in_workers({0}, pool, work, done); !s.ok()) return s.error();
        return trial;
    }

    enum class Results { kStored, kCompared };

    /// Compares the results, in the worker.
    Status outcome_of(const Wanted& wanted, Results results) {
        try {
            auto here = Side::create(*options_.backend);
            auto other = Side::create(*options_.other);
            if (!here.ok() || !other.ok()) return (here.ok() ? other : here).status();
            FallbackLists lists;
            lists.wanted = [&](const Call& call) { return wanted(capture_.position(*call.origin)); };
            Fallback fallback(**other, lists, {});
            Chain chain(*options_.backend);
            for (Interceptor* tool : options_.interceptors) chain.add(*tool);
            chain.add(fallback);
            if (options_.sim != nullptr) chain.add(*options_.sim);
            Status s = replay_.begin((*here)->context());
            if (s.ok()) s = replay_.run(chain, (*here)->context());
            if (!s.ok()) return s;
            auto values = results_of(replay_, (*here)->context());
            if (!values.ok()) return values.status();
            return results == Results::kStored ? store(*values) : judge(*values);
        } catch (const std::exception& e) {
            return failed(e.what());
        }
    }

    Status store(const std::vector<TensorPtr>& values) {
        for (size_t i = 0; i < values.size(); ++i) {
            if (values[i]->nbytes() > 0) std::memcpy(slot(i), values[i]->data(), values[i]->nbytes());
        }
        return {};
    }

    Status judge(const std::vector<TensorPtr>& values) {
        int64_t wrong = 0;
        std::string first;
        for (size_t i = 0; i < values.size(); ++i) {
            Tensor expected = *values[i];
            expected.storage.memory = std::shared_ptr<void>(expected_, slot(i));
            const ResultDistance distance = distance_of(*values[i], expected, options_.tolerance);
            if (distance.within || ++wrong > 1) continue;
            const CapturedTensor& tensor = capture_.tensors[replay_.results()[i]];
            first = fmt::format("{} by {:.3g}", title_of(tensor), distance.max_abs);
        }
        if (wrong == 0) return {};
        return failed(fmt::format("{} of {} results differ, {}", wrong, values.size(), first));
    }

    CaptureReplay& replay_;
    const Capture& capture_;
    const CaptureValues& values_;
    const BisectOptions& options_;
    BisectReport report_;
    std::vector<FaultyFunction> functions_;
    std::vector<size_t> function_of_;  ///< by call; SIZE_MAX if it cannot fall back
    std::vector<size_t> calls_;        ///< units of the second search
    std::shared_ptr<void> expected_;
    std::vector<size_t> offsets_;  ///< by result
};

}  // namespace

Result<BisectReport> bisect(CaptureReplay& replay, const Capture& capture, const CaptureValues& values,
                            const BisectOptions& options) {
    return Bisection(replay, capture, values, options).run();
}

BisectRecord to_record(const BisectReport& report, const Capture& capture) {
    BisectRecord record;
    record.end = report.function_search.end;
    record.reason = report.function_search.reason;
    record.flaky = report.function_search.flaky;
    for (const FaultyFunction& function : report.functions) {
        record.functions.push_back({std::string(function.row->function), function.overloads, function.calls});
    }
    if (report.call_units > 0) record.calls_end = report.call_search.end;
    for (const size_t number : report.calls) {
        const CapturedCall& call = capture.calls[number];
        record.calls.push_back({number, call.overload, std::string(call.call->row->function), call.layer, call.source});
    }
    record.replays = report.replays();
    record.function_units = report.function_units;
    record.call_units = report.call_units;
    return record;
}

}  // namespace diopi
