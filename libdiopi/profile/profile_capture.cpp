#include "profile/profile_capture.hpp"

#include <algorithm>
#include <iterator>

#include "core/stopwatch.hpp"
#include "intercept/call_copy.hpp"
#include "profile/call_facts.hpp"
#include "timing/activity_log.hpp"
#include "timing/roofs.hpp"
#include "timing/slowdown_watch.hpp"
#include "timing/timing_interceptor.hpp"
#include "worker/worker_pool.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

class Profiling {
 public:
    Profiling(CaptureReplay& replay, const Capture& capture, const CaptureProfileOptions& options)
        : replay_(replay), capture_(capture), options_(options), slowdowns_(options.backend->device()) {}

    Result<Profile> run() {
        keep_freed_memory();
        profile_.backend = options_.backend->name();
        // The replay's stream does not exist yet: a device that must track whose memory is free takes longer with two
        // streams.
        Status s = measure_roofs_again();
        if (s.ok()) s = run_steps();
        if (s.ok()) s = measure_roofs_again();
        if (!s.ok()) return s.error();
        return std::move(profile_);
    }

 private:
    Status run_steps() {
        auto side = Side::create(*options_.backend);
        if (!side.ok()) return side.status();
        Context& context = (*side)->context();
        auto clock = ProfileClock::start(context, options_.begin);
        if (!clock.ok()) return clock.status();
        clock_ = std::move(*clock);
        profile_.has_device_time = clock_.has_device_time();
        list_calls();
        TimingInterceptor timer(clock_, capture_.calls.size());
        Chain first(*options_.backend), chain(*options_.backend);
        if (options_.first_iteration != nullptr) first.add(*options_.first_iteration);
        for (Chain* each : {&first, &chain}) {
            if (options_.adaptor != nullptr) each->add(*options_.adaptor);
            each->add(timer);
            if (options_.sim != nullptr) each->add(*options_.sim);
        }
        if (Status s = keep_busy(chain, context, timer); !s.ok()) return s;
        const Schedule schedule = options_.schedule.value_or(Schedule{0, 0, 1, options_.run_times, 1});
        for (int64_t i = 0; i < schedule.iterations() && !interrupted(); ++i) {
            if (Status s = iterate(i == 0 ? first : chain, context, timer, i, schedule.action(i)); !s.ok()) return s;
        }
        return {};
    }

    /// Runs steps without recording before the others: an idle device needs time to raise its frequency. A modelled
    /// device needs none.
    Status keep_busy(const Chain& chain, Context& context, TimingInterceptor& timer) {
        if (!clock_.has_device_time() || options_.sim != nullptr) return {};
        for (double spent = 0; spent < kRampSeconds && !interrupted();) {
            if (Status s = replay_.begin(context); !s.ok()) return s;
            const Stopwatch watch;
            if (Status s = replay_.run(chain, context); !s.ok()) return s;
            spent += watch.seconds();
            if (Status s = note(timer, false); !s.ok()) return s;
        }
        return {};
    }

    Status measure_roofs_again() {
        if (options_.sim != nullptr) return {};
        if (!options_.roofs) return options_.empty_call ? measure_empty_call_again() : Status();
        std::vector<Dtype> dtypes;
        for (const CapturedTensor& tensor : capture_.tensors) {
            const Dtype dtype = tensor.tensor->dtype;
            if (is_floating(dtype) && std::ranges::find(dtypes, dtype) == dtypes.end()) dtypes.push_back(dtype);
        }
        auto roofs = measure_roofs(*options_.backend, dtypes);
        if (roofs.ok()) profile_.roofs = better(profile_.roofs, *roofs);
        return roofs.status();
    }

    Status measure_empty_call_again() {
        const auto roofs = measure_empty_call(*options_.backend);
        if (roofs.ok()) profile_.roofs = better(profile_.roofs, *roofs);
        return roofs.status();
    }

    /// Adds a row for the step, then one per call.
    void list_calls() {
        ProfiledCall& step = profile_.calls.emplace_back();
        step.name = capture_.name + " step";
        for (size_t i = 0; i < capture_.calls.size(); ++i) {
            const CapturedCall& captured = capture_.calls[i];
            ProfiledCall& call = profile_.calls.emplace_back();
            call.parent = 0;
            call.name = call.overload = captured.overload;
            call.number = static_cast<int64_t>(i);
            call.phase = captured.phase;
            call.layer = captured.layer;
            call.forward_id = captured.forward_id;
            if (captured.call) describe_call(*captured.call, call);
            if (!options_.memory) continue;
            call.allocated = replay_.allocated(i);
            call.freed = replay_.freed(i);
        }
    }

    Status iterate(const Chain& chain, Context& context, TimingInterceptor& timer, int64_t iteration,
                   Schedule::Action action) {
        if (Status s = replay_.begin(context); !s.ok()) return s;
        const bool recorded = action == Schedule::Action::kRecord;
        timer.set_pass(iteration);
        const auto visit = [&](const ReplayedCall& replayed) {
            // A device with its own clock is still working when a call returns; other devices have finished.
            if (clock_.has_device_time()) slowdowns_.ask();
            if (replayed.outcome.is_declined()) {
                profile_.calls[replayed.index + 1].error = replayed.outcome.message;
            }
            return Status();
        };
        TimedRun whole;
        whole.pass = iteration;
        if (recorded) profile_.pace.push_back(machine_pace());
        ActivityLog log(profile_);
        if (options_.activities && recorded && profile_.calls.front().runs.empty()) {
            log.begin(*context.device, clock_);
        }
        whole.start = clock_.now();
        if (Status s = replay_.run(chain, context, visit); !s.ok()) return s;
        whole.cpu = clock_.now() - whole.start;
        log.finish("");
        std::ranges::move(slowdowns_.take_reasons(), std::back_inserter(profile_.slowdowns));
        // The device's time of a step is the sum of its calls' times.
        if (recorded) profile_.calls.front().runs.push_back(whole);
        return note(timer, recorded);
    }

    /// Takes the timer's measurements.
    Status note(TimingInterceptor& timer, bool recorded) {
        auto noted = timer.collect();
        if (!noted.ok()) return noted.status();
        for (const TimingInterceptor::Noted& call : *noted) {
            if (!call.ok) continue;
            ProfiledCall& profiled = profile_.calls[capture_.position(*call.origin) + 1];
            if (recorded)
                profiled.runs.push_back(call.run);
            else
                ++profiled.warmup;
        }
        return {};
    }

    CaptureReplay& replay_;
    const Capture& capture_;
    const CaptureProfileOptions& options_;
    Profile profile_;
    ProfileClock clock_;
    SlowdownWatch slowdowns_;
};

}  // namespace

Result<Profile> profile_capture(CaptureReplay& replay, const Capture& capture, const CaptureProfileOptions& options) {
    return Profiling(replay, capture, options).run();
}

Status add_replay(Profile& profile, Profile other) {
    if (profile.calls.size() != other.calls.size()) return internal_error("two replays of a capture differ");
    int64_t passes = 0;
    for (const ProfiledCall& call : profile.calls) {
        for (const TimedRun& run : call.runs) passes = std::max(passes, run.pass + 1);
    }
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        for (TimedRun& run : other.calls[i].runs) {
            run.pass += passes;
            profile.calls[i].runs.push_back(run);
        }
    }
    std::ranges::move(other.slowdowns, std::back_inserter(profile.slowdowns));
    return {};
}

}  // namespace diopi
