#include "run/fallback_run.hpp"

#include <algorithm>

#include "call/call_name.hpp"
#include "core/stopwatch.hpp"
#include "run/capture_results.hpp"
#include "run/timing_interceptor.hpp"

namespace diopi {

namespace {

void add(Transfers& sum, const Transfers& transfers) {
    sum.copies += transfers.copies;
    sum.nbytes += transfers.nbytes;
    sum.seconds += transfers.seconds;
}

/// Calls of one kind: the framework's name and the function.
using CallKind = std::pair<std::string, const Row*>;

class Simulation {
 public:
    Simulation(CaptureReplay& replay, const Capture& capture, FallbackLists& lists, const FallbackRunOptions& options)
        : replay_(replay), capture_(capture), lists_(lists), options_(options) {}

    Result<FallbackReport> run() {
        auto here = Side::create(*options_.backend);
        if (!here.ok()) return here.error();
        auto other = Side::create(*options_.other);
        if (!other.ok()) return other.error();
        report_.calls = static_cast<int64_t>(capture_.calls.size());

        auto clock = ProfileClock::start((*here)->context());
        if (!clock.ok()) return clock.error();
        TimingInterceptor timer(*clock, capture_.calls.size());
        FallbackLists none;
        Kind without{&none}, with{&lists_};
        // In turns, so that both see the same moods of the machine. The first one of each warms up.
        for (int i = 0; i <= options_.run_times; ++i) {
            for (Kind* kind : {&without, &with}) {
                if (Status s = iterate(*kind, **here, **other, i > 0); !s.ok()) return s.error();
            }
        }
        std::vector<TensorPtr> before, after;
        counting_ = true;
        timer_ = &timer;
        if (Status s = count(without, **here, **other, before); !s.ok()) return s.error();
        timer_ = nullptr;
        if (Status s = count(with, **here, **other, after); !s.ok()) return s.error();
        report_.step_seconds = median(without.steps);
        report_.step_seconds_with = median(with.steps);
        report_.waited_seconds = median(without.waited);
        report_.waited_seconds_with = median(with.waited);
        compare(before, after);
        finish_rows();
        return report_;
    }

 private:
    /// Steps with one of the two lists.
    struct Kind {
        FallbackLists* lists;
        std::vector<double> steps = {}, waited = {};
    };

    static double median(std::vector<double>& values) {
        if (values.empty()) return 0;
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::ranges::nth_element(values, middle);
        return *middle;
    }

    /// One more iteration, which counts calls and copies, and its results.
    Status count(Kind& kind, Side& here, Side& other, std::vector<TensorPtr>& results) {
        if (Status s = iterate(kind, here, other, false); !s.ok()) return s;
        auto copied = results_of(replay_, here.context());
        if (copied.ok()) results = std::move(*copied);
        return copied.status();
    }

    Status iterate(Kind& kind, Side& here, Side& other, bool timed) {
        if (Status s = replay_.begin(here.context()); !s.ok()) return s;
        other_seconds_ = 0;
        Fallback fallback(other, *kind.lists, [this](const FallbackEvent& event) { on_fallback(event); });
        Chain chain(*options_.backend);
        if (is_first_ && options_.first_iteration != nullptr) chain.add(*options_.first_iteration);
        is_first_ = false;
        chain.add(fallback);
        if (timer_ != nullptr) chain.add(*timer_);
        if (options_.sim != nullptr) chain.add(*options_.sim);
        const double began = options_.sim == nullptr ? 0 : options_.sim->device().now();
        const Stopwatch watch;
        const Status s = replay_.run(chain, here.context(), [this](const ReplayedCall& call) { return on_call(call); });
        const double real = watch.seconds();
        if (timed) {
            // On a simulated device what it counted and what the host did meanwhile follow each other.
            const bool simulated = options_.sim != nullptr;
            kind.steps.push_back(simulated ? options_.sim->device().now() - began + other_seconds_ : real);
            if (simulated && options_.sim->device().model().waits) kind.waited.push_back(real);
        }
        return s.ok() && timer_ != nullptr ? note_times() : s;
    }

    Status on_call(const ReplayedCall& call) {
        if (is_counting() && call.outcome.is_declined()) ++report_.missing[call.captured.overload];
        return {};
    }

    void on_fallback(const FallbackEvent& event) {
        other_seconds_ += event.seconds;
        if (!is_counting()) return;
        FallbackRow& row = rows_[{name_of(event.call), event.call.row}];
        row.reason = event.reason;
        ++row.calls;
        add(row.in, event.in);
        add(row.out, event.out);
        row.other_seconds += event.seconds;
        if (options_.on_event) options_.on_event(event);
    }

    /// Calls and copies count with the lists alone.
    [[nodiscard]] bool is_counting() const { return counting_ && timer_ == nullptr; }

    /// What the timer saw.
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
        report_.results = static_cast<int64_t>(before.size());
        for (size_t i = 0; i < before.size(); ++i) {
            const ResultDistance distance = distance_of(*after[i], *before[i], options_.tolerance);
            if (distance.same) continue;
            const CapturedTensor& tensor = capture_.tensors[replay_.results()[i]];
            report_.changed.push_back({title_of(tensor), distance.max_abs, distance.max_rel, distance.within});
        }
    }

    void finish_rows() {
        for (auto& [kind, row] : rows_) {
            row.overload = kind.first;
            row.function = kind.second->function;
            const auto device = device_seconds_.find(kind);
            if (device != device_seconds_.end()) row.device_seconds = device->second;
            report_.rows.push_back(std::move(row));
        }
        const auto cost = [](const FallbackRow& row) {
            return row.in.seconds + row.out.seconds + row.other_seconds - row.device_seconds;
        };
        std::ranges::stable_sort(report_.rows, std::greater(), cost);
    }

    CaptureReplay& replay_;
    const Capture& capture_;
    FallbackLists& lists_;
    const FallbackRunOptions& options_;
    TimingInterceptor* timer_ = nullptr;  ///< while the calls of the device are timed, without forced fallback
    FallbackReport report_;
    std::map<CallKind, FallbackRow> rows_;
    std::map<CallKind, double> device_seconds_;
    bool is_first_ = true;
    bool counting_ = false;  ///< in the last iteration of each kind
    double other_seconds_ = 0;
};

}  // namespace

Result<FallbackReport> simulate_fallback(CaptureReplay& replay, const Capture& capture, FallbackLists& lists,
                                         const FallbackRunOptions& options) {
    return Simulation(replay, capture, lists, options).run();
}

}  // namespace diopi
