#include "replay/fallback_run.hpp"

#include <algorithm>
#include <optional>

#include "call/call_name.hpp"
#include "check/statistics.hpp"
#include "core/stopwatch.hpp"
#include "replay/capture_results.hpp"
#include "timing/timing_interceptor.hpp"

namespace diopi {

namespace {

/// Calls of one kind: the framework's name and the function.
using CallKind = std::pair<std::string, const Row*>;

class Simulation {
 public:
    Simulation(CaptureReplay& replay, const Capture& capture, FallbackLists& lists, const FallbackRunOptions& options)
        : replay_(replay), capture_(capture), lists_(lists), options_(options) {}

    Result<FallbackRecord> run() {
        auto here = Side::create(*options_.backend);
        if (!here.ok()) return here.error();
        auto other = Side::create(*options_.other);
        if (!other.ok()) return other.error();
        record_.calls = static_cast<int64_t>(capture_.calls.size());

        auto clock = ProfileClock::start((*here)->context());
        if (!clock.ok()) return clock.error();
        timer_.emplace(*clock, capture_.calls.size());
        FallbackLists none;
        Kind without{&none}, with{&lists_};
        // The two kinds alternate, so that both have the same machine noise.
        for (int i = 0; i <= options_.run_times; ++i) {
            purpose_ = i == 0 ? Purpose::kWarmUp : Purpose::kStepTime;
            for (Kind* kind : {&without, &with}) {
                if (Status s = iterate(*kind, **here, **other); !s.ok()) return s.error();
            }
        }
        std::vector<TensorPtr> before, after;
        purpose_ = Purpose::kCallTimes;
        if (Status s = iterate(without, **here, **other, &before); !s.ok()) return s.error();
        purpose_ = Purpose::kCounts;
        if (Status s = iterate(with, **here, **other, &after); !s.ok()) return s.error();
        record_.step_seconds = median(without.steps);
        record_.step_seconds_with = median(with.steps);
        record_.waited_seconds = median(without.waited);
        record_.waited_seconds_with = median(with.waited);
        compare(before, after);
        finish_rows();
        note_unmatched();
        return record_;
    }

 private:
    enum class Purpose {
        kWarmUp,
        kStepTime,
        kCallTimes,  ///< times of the device's calls, without forced fallback
        kCounts      ///< counts of fallbacks, their copies, and calls that nobody implements
    };
    /// Steps with one of the two lists.
    struct Kind {
        FallbackLists* lists;
        std::vector<double> steps = {}, waited = {};
    };

    /// Runs one iteration; copies its results if `results` is given.
    Status iterate(Kind& kind, Side& here, Side& other, std::vector<TensorPtr>* results = nullptr) {
        if (Status s = replay_.begin(here.context()); !s.ok()) return s;
        other_seconds_ = 0;
        Fallback fallback(other, *kind.lists, [this](const FallbackEvent& event) { on_fallback(event); });
        Chain chain(*options_.backend);
        if (is_first_ && options_.first_iteration != nullptr) chain.add(*options_.first_iteration);
        is_first_ = false;
        if (options_.adaptor != nullptr) chain.add(*options_.adaptor);
        chain.add(fallback);
        if (purpose_ == Purpose::kCallTimes) chain.add(*timer_);
        if (options_.sim != nullptr) chain.add(*options_.sim);
        const double began = device_now();
        const Stopwatch watch;
        const auto visit = [this](const ReplayedCall& call) { return on_call(call); };
        if (Status s = replay_.run(chain, here.context(), visit); !s.ok()) return s;
        if (purpose_ == Purpose::kStepTime) note_step(kind, watch.seconds(), device_now() - began);
        if (purpose_ == Purpose::kCallTimes) {
            if (Status s = note_times(); !s.ok()) return s;
        }
        if (results == nullptr) return {};
        auto copied = results_of(replay_, here.context());
        if (copied.ok()) *results = std::move(*copied);
        return copied.status();
    }

    [[nodiscard]] double device_now() const { return options_.sim == nullptr ? 0 : options_.sim->device().now(); }

    /// Records the time of a step: elapsed time, and the time counted by a simulated device.
    void note_step(Kind& kind, double real, double counted) const {
        if (options_.sim == nullptr) return kind.steps.push_back(real);
        // The device's counted work and the host's work in between are sequential.
        kind.steps.push_back(counted + other_seconds_);
        if (options_.sim->device().model().waits) kind.waited.push_back(real);
    }

    Status on_call(const ReplayedCall& call) {
        if (purpose_ == Purpose::kCounts && call.outcome.is_declined()) ++record_.missing[call.captured.overload];
        return {};
    }

    void on_fallback(const FallbackEvent& event) {
        other_seconds_ += event.seconds;
        if (purpose_ != Purpose::kCounts) return;
        FallbackRow& row = rows_[{name_of(event.call), event.call.row}];
        row.reason = event.reason;
        ++row.calls;
        row.in += event.in;
        row.out += event.out;
        row.other_seconds += event.seconds;
        if (options_.lines) record_.lines.push_back(seed_line(event));
    }

    /// Takes the timer's measurements.
    Status note_times() {
        auto noted = timer_->collect();
        if (!noted.ok()) return noted.status();
        const bool has_device_time = !options_.backend->device().is_host();
        for (const TimingInterceptor::Noted& call : *noted) {
            if (call.ok) device_seconds_[{call.origin->overload, call.row}] += seconds_of(call.run, has_device_time);
        }
        return {};
    }

    void compare(const std::vector<TensorPtr>& before, const std::vector<TensorPtr>& after) {
        record_.results = static_cast<int64_t>(before.size());
        for (size_t i = 0; i < before.size(); ++i) {
            const ResultDistance distance = distance_of(*after[i], *before[i], options_.tolerance);
            if (distance.same) continue;
            const CapturedTensor& tensor = capture_.tensors[replay_.results()[i]];
            record_.changed.push_back({title_of(tensor), distance.max_abs, distance.max_rel, distance.within});
        }
    }

    void finish_rows() {
        for (auto& [kind, row] : rows_) {
            row.overload = kind.first;
            row.function = kind.second->function;
            const auto device = device_seconds_.find(kind);
            if (device != device_seconds_.end()) row.device_seconds = device->second;
            record_.rows.push_back(std::move(row));
        }
        const auto cost = [](const FallbackRow& row) {
            return row.in.seconds + row.out.seconds + row.other_seconds - row.device_seconds;
        };
        std::ranges::stable_sort(record_.rows, std::greater(), cost);
    }

    void note_unmatched() {
        for (const auto* list : {&lists_.only, &lists_.except}) {
            if (!*list) continue;
            for (std::string& item : (*list)->unmatched()) record_.unmatched.push_back(std::move(item));
        }
    }

    CaptureReplay& replay_;
    const Capture& capture_;
    FallbackLists& lists_;
    const FallbackRunOptions& options_;
    std::optional<TimingInterceptor> timer_;
    FallbackRecord record_;
    std::map<CallKind, FallbackRow> rows_;
    std::map<CallKind, double> device_seconds_;
    bool is_first_ = true;
    Purpose purpose_ = Purpose::kWarmUp;
    double other_seconds_ = 0;
};

}  // namespace

Result<FallbackRecord> simulate_fallback(CaptureReplay& replay, const Capture& capture, FallbackLists& lists,
                                         const FallbackRunOptions& options) {
    return Simulation(replay, capture, lists, options).run();
}

std::vector<std::string> call_names(const Capture& capture) {
    std::vector<std::string> names;
    for (const CapturedCall& captured : capture.calls) {
        if (!captured.call) continue;
        const Call call = captured.with_origin();
        for (std::string& name : names_of(call)) names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string> kept_on_device(const Capture& capture, FallbackLists& lists) {
    std::vector<std::string> kept;
    if (!lists.except) return kept;
    for (const CapturedCall& captured : capture.calls) {
        if (!captured.call) continue;
        const Call call = captured.with_origin();
        const bool is_new = std::ranges::find(kept, captured.overload) == kept.end();
        if (is_new && lists.except->matches(call)) kept.push_back(captured.overload);
    }
    return kept;
}

}  // namespace diopi
