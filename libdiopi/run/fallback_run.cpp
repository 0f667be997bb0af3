#include "run/fallback_run.hpp"

#include <algorithm>

#include "core/stopwatch.hpp"
#include "intercept/tensor_text.hpp"
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
        std::vector<TensorPtr> before, after;
        timer_ = &timer;
        if (Status s = replay(none, **here, **other, report_.step_seconds, before); !s.ok()) return s.error();
        timer_ = nullptr;
        if (Status s = replay(lists_, **here, **other, report_.step_seconds_with, after); !s.ok()) return s.error();
        compare(before, after);
        finish_rows();
        return report_;
    }

 private:
    /// A warm-up, the iterations that are timed, and one that counts calls and copies.
    Status replay(FallbackLists& lists, Side& here, Side& other, double& step, std::vector<TensorPtr>& results) {
        rows_.clear();
        report_.missing.clear();
        counting_ = false;
        double seconds = 0;
        if (Status s = iterate(lists, here, other, seconds); !s.ok()) return s;
        std::vector<double> steps;
        for (int i = 0; i < options_.run_times; ++i) {
            if (Status s = iterate(lists, here, other, seconds); !s.ok()) return s;
            steps.push_back(seconds);
        }
        std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
        step = steps[steps.size() / 2];
        counting_ = true;
        if (Status s = iterate(lists, here, other, seconds); !s.ok()) return s;
        auto copied = results_of(replay_, here.context());
        if (copied.ok()) results = std::move(*copied);
        return copied.status();
    }

    Status iterate(FallbackLists& lists, Side& here, Side& other, double& seconds) {
        if (Status s = replay_.begin(here.context()); !s.ok()) return s;
        other_seconds_ = 0;
        Fallback fallback(other, lists, [this](const FallbackEvent& event) { on_fallback(event); });
        Chain chain(*options_.backend);
        chain.add(fallback);
        if (counting_ && timer_ != nullptr) chain.add(*timer_);
        if (options_.sim != nullptr) chain.add(*options_.sim);
        const double began = options_.sim == nullptr ? 0 : options_.sim->device().now();
        const Stopwatch watch;
        const Status s = replay_.run(chain, here.context(), [this](const ReplayedCall& call) { return on_call(call); });
        // On a simulated device what it counted and what the host did meanwhile follow each other.
        seconds = options_.sim == nullptr ? watch.seconds() : options_.sim->device().now() - began + other_seconds_;
        return s.ok() && counting_ && timer_ != nullptr ? note_times() : s;
    }

    Status on_call(const ReplayedCall& call) {
        if (counting_ && call.outcome.is_declined()) ++report_.missing[call.captured.overload];
        return {};
    }

    void on_fallback(const FallbackEvent& event) {
        other_seconds_ += event.seconds;
        if (!counting_) return;
        FallbackRow& row = rows_[{overload_of(event.call), event.call.row}];
        row.reason = event.reason;
        ++row.calls;
        add(row.in, event.in);
        add(row.out, event.out);
        row.other_seconds += event.seconds;
        if (options_.on_event) options_.on_event(event);
    }

    /// What the timer saw, in the order of the calls that have a function.
    Status note_times() {
        auto noted = timer_->collect();
        if (!noted.ok()) return noted.status();
        size_t next = 0;
        for (const CapturedCall& captured : capture_.calls) {
            if (!captured.call || next == noted->size()) continue;
            const TimingInterceptor::Noted& call = (*noted)[next++];
            const bool has_device_time = !options_.backend->device().is_host();
            if (call.ok) device_seconds_[{captured.overload, call.row}] += seconds_of(call.run, has_device_time);
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
    bool counting_ = false;  ///< calls and copies: in the last iteration of each kind
    double other_seconds_ = 0;
};

}  // namespace

Result<FallbackReport> simulate_fallback(CaptureReplay& replay, const Capture& capture, FallbackLists& lists,
                                         const FallbackRunOptions& options) {
    return Simulation(replay, capture, lists, options).run();
}

}  // namespace diopi
