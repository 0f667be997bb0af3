#include "profile/profile_sampler.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "profile/call_facts.hpp"
#include "timing/activity_log.hpp"
#include "timing/metered_device.hpp"
#include "timing/roofs.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

/// The most argument sets of a cold call, which together fill kCacheRounds.
constexpr int kMostSets = 256;

/// The fewest calls of a pass may exceed its time: a call may take this multiple of its share.
constexpr double kMostOverrun = 2;

/// A pass with fewer samples is too uncertain.
constexpr int kLeastPerPass = 10;

/// Gives every tensor, inputs too, its own memory at a random place in its page. The relative positions of tensors
/// change the time of some calls by several percent: a position kept through a run would look like a property of the
/// call, and differ in the next run.
class RandomPlaces {
 public:
    RandomPlaces(uint64_t seed, bool is_host) : random_(seed), alignment_(is_host ? kLine : kDeviceAlignment) {}

    Layout operator()(const Place&, const TensorSpec& spec) {
        const Shape strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
        const int64_t extent = storage_extent(spec.shape, strides);
        const auto places = static_cast<uint64_t>(kPage / alignment_);
        const auto bytes = static_cast<int64_t>(random_() % places) * alignment_;
        const int64_t offset = extent == 0 ? 0 : bytes / static_cast<int64_t>(size_of(spec.dtype));
        return {strides, offset, extent + offset};
    }

 private:
    static constexpr int64_t kLine = 64, kDeviceAlignment = 256, kPage = 4096;
    std::mt19937_64 random_;
    int64_t alignment_;
};

/// This share of the requested passes must have had quiet moments.
constexpr double kQuietPasses = 0.75;

/// Whether the call has taken so long, with warm-up, that further passes skip it.
bool is_expensive(const ProfiledCall& call, double quietest, bool has_device_time, const ProfileOptions& options) {
    double counted = 0, all = 0;
    for (const TimedRun& run : call.runs) {
        const double seconds = seconds_of(run, has_device_time);
        counted += run.crowding > kCrowded * quietest ? seconds / kMostWaiting : seconds;
        all += seconds;
    }
    const double mean = call.runs.empty() ? 0 : all / static_cast<double>(call.runs.size());
    const double spent = counted * static_cast<double>(call.batch) + mean * static_cast<double>(call.warmup);
    return spent >= kMostOverrun * options.timing.max_seconds;
}

double cpu_seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Whether other threads of this process work for a call.
Result<bool> works_in_parallel(const Chain& chain, Call& call, Context& context) {
    constexpr double kLeastShare = 0.1, kClocks = 20e-6;  // the second: for finishing work and two clocks
    double all = 0, own = 0;
    // The first call also does one-time work.
    for (int i = 0; i < 2; ++i) {
        // Threads of OpenMP that have just worked would spin for more, which looks like work.
        omp_pause_resource_all(omp_pause_soft);
        all = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
        own = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        const Outcome outcome = chain.run(call, context);
        if (!outcome.ok()) return failed(outcome.message);
        context.release();
    }
    // A thread's time is counted when it ends or waits.
    omp_pause_resource_all(omp_pause_soft);
    const double own_now = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    const double others = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - all - own_now;
    return others > kLeastShare * own_now + kClocks;
}

}  // namespace

bool wants_passes(const ProfiledCall& call, const Profile& profile, const ProfileOptions& options) {
    if (profile.has_device_time || call.runs.empty() || is_expensive(call, profile.quietest, false, options)) {
        return false;
    }
    const size_t quiet = quiet_passes(call, false, kCrowded * profile.quietest).size();
    return static_cast<double>(quiet) < kQuietPasses * options.passes;
}

ProfileSampler::ProfileSampler(const ProfileOptions& options, Context& context, double quietest)
    : options_(options),
      context_(context),
      chain_(*options.backend),
      cache_bytes_(last_level_cache(*context.device)),
      eviction_(context, cache_bytes_),
      crowding_(quietest, options.probe),
      slowdowns_(*context.device) {
    for (Interceptor* tool : options.interceptors) chain_.add(*tool);
}

Status ProfileSampler::start(std::chrono::steady_clock::time_point begin) {
    auto clock = ProfileClock::start(context_, begin);
    if (!clock.ok()) return clock.status();
    clock_ = std::move(*clock);
    return {};
}

Status ProfileSampler::pass(const Step& planned, ProfiledCall& call, int64_t pass) {
    Step step = planned;
    note_step(WorkPhase::kInCall, step.name, step.call.row->function);
    {
        Placement placement(context_, nullptr, false);
        if (Status s = take_opaque(step, chain_, placement); !s.ok()) return s;
    }
    if (call.function.empty()) {
        if (Status s = describe(step, call); !s.ok()) return s;
    }
    if (pass == 0 && options_.unmeasured != nullptr) {
        if (Status s = show(step); !s.ok()) return s;
    }
    if (pass == 0 && options_.activities) {
        if (Status s = record(step, call.name); !s.ok()) return s;
    }
    return options_.schedule ? iterate(step, call, pass) : sample(step, call, pass);
}

Profile ProfileSampler::take_events() {
    events_.slowdowns = slowdowns_.take_reasons();
    return std::exchange(events_, {});
}

/// One set of tensors for a hot call, several for a cold one.
Result<ProfileSampler::Sets> ProfileSampler::place(const Step& step, const ProfiledCall& call, int64_t pass) {
    Sets sets;
    size_t wanted = 1;
    if (options_.cold) {
        const double all = kCacheRounds * static_cast<double>(cache_bytes_);
        wanted = static_cast<size_t>(std::clamp(std::ceil(all / std::max(call.bytes, 1.0)), 2.0, 1.0 * kMostSets));
        sets.need_eviction = static_cast<double>(wanted) * call.bytes < all;
    }
    if (sets.need_eviction) {
        const auto is_possible = eviction_.is_possible();
        if (!is_possible.ok()) return is_possible.error();
        sets.need_eviction = *is_possible;
    }
    for (size_t i = 0; i < wanted; ++i) {
        const auto seed = static_cast<uint64_t>(pass) * kMostSets + i;
        const LayoutRule layout = RandomPlaces(seed, context_.device->is_host());
        sets.placements.push_back(std::make_unique<Placement>(context_, nullptr, false, layout));
        auto placed = PlacedCall::create(step, *sets.placements.back(), Poison::kFirst);
        if (!placed.ok()) return placed.error();
        sets.placed.push_back(std::move(*placed));
    }
    for (PlacedCall& placed : sets.placed) sets.calls.push_back(&placed.call());
    return sets;
}

/// Fills in the facts about the placed call, and the memory that one call takes.
Status ProfileSampler::describe(const Step& step, ProfiledCall& call) {
    Placement placement(context_, nullptr, false);
    auto placed = PlacedCall::create(step, placement, Poison::kFirst);
    if (!placed.ok()) return placed.status();
    describe_call(placed->call(), call);
    if (looks_at_cores()) {
        auto is_parallel = works_in_parallel(chain_, placed->call(), context_);
        if (!is_parallel.ok()) return is_parallel.status();
        call.parallel = *is_parallel;
    }
    if (!options_.memory) return {};
    for (const OutputSpec& output : step.outputs) {
        if (step.call.row->args()[output.arg].is_made) continue;
        call.allocated += numel(output.spec.shape) * static_cast<int64_t>(size_of(output.spec.dtype));
    }
    MeteredDevice metered(*context_.device);
    Context context(metered, context_.stream);
    const Outcome outcome = chain_.run(placed->call(), context);
    if (!outcome.ok()) return failed(outcome.message);
    context.release();
    call.allocated += metered.allocated();
    call.freed += metered.freed();
    return {};
}

/// Makes one call with the tool that wants it.
Status ProfileSampler::show(const Step& step) {
    Placement placement(context_, nullptr, false);
    auto placed = PlacedCall::create(step, placement, Poison::kFirst);
    if (!placed.ok()) return placed.status();
    Chain chain(*options_.backend);
    chain.add(*options_.unmeasured);
    for (Interceptor* tool : options_.interceptors) chain.add(*tool);
    const Outcome outcome = chain.run(placed->call(), context_);
    context_.release();
    return outcome.ok() ? Status() : failed(outcome.message);
}

/// Records the device's activities for one call. Recording takes time, so the call is no sample.
Status ProfileSampler::record(const Step& step, std::string_view name) {
    Placement placement(context_, nullptr, false);
    auto placed = PlacedCall::create(step, placement, Poison::kFirst);
    if (!placed.ok()) return placed.status();
    ActivityLog log(events_);
    log.begin(*context_.device, clock_);
    const Outcome outcome = chain_.run(placed->call(), context_);
    context_.release();
    log.finish(name);
    return outcome.ok() ? Status() : failed(outcome.message);
}

Status ProfileSampler::sample(const Step& step, ProfiledCall& call, int64_t pass) {
    TimingOptions timing = options_.timing;
    if (pass > 0 && is_expensive(call, crowding_.quietest(), has_device_time(), options_)) return {};
    auto sets = place(step, call, pass);
    if (!sets.ok()) return sets.status();
    const int passes = options_.passes;
    timing.max_seconds /= passes;
    timing.max_warmup_seconds /= passes;
    timing.wanted_interval *= std::sqrt(passes);
    timing.min_samples = std::max((timing.min_samples + passes - 1) / passes, kLeastPerPass);
    timing.min_short_samples = std::max((timing.min_short_samples + passes - 1) / passes, kLeastPerPass);
    timing.crowding = looks_at_cores() ? &crowding_ : nullptr;
    timing.cores = call.parallel ? Crowding::Of::kAll : Crowding::Of::kThread;
    timing.hooks = hooks(sets->need_eviction);
    timing.ramp_seconds = std::exchange(ramp_seconds_, 0);
    auto samples = time_call(chain_, sets->calls, context_, clock_, timing);
    if (!samples.ok()) return samples.status();
    for (TimedRun& run : samples->runs) run.pass = pass;
    call.runs.insert(call.runs.end(), samples->runs.begin(), samples->runs.end());
    call.batch = samples->batch;
    call.warmup += samples->warmup;
    const bool converged = summary_of(call, has_device_time()).half_width() <= options_.timing.wanted_interval;
    // A pass that converged or met a plateau changes nothing for the whole: the noise is between the passes.
    const bool met_limit = samples->stop == Stop::kTimeLimit;
    call.stop = name(converged ? Stop::kConverged : met_limit ? Stop::kTimeLimit : Stop::kPlateau);
    return {};
}

SampleHooks ProfileSampler::hooks(bool need_eviction) {
    SampleHooks hooks;
    if (need_eviction) hooks.evict = [this] { return eviction_(); };
    hooks.while_busy = [this] { slowdowns_.ask(); };
    return hooks;
}

Status ProfileSampler::iterate(const Step& step, ProfiledCall& call, int64_t iteration) {
    auto sets = place(step, call, iteration);
    if (!sets.ok()) return sets.status();
    EventTimer watch(chain_, sets->calls, context_, clock_, hooks(sets->need_eviction));
    Status s = watch.create();
    if (s.ok()) s = watch.keep_busy(std::exchange(ramp_seconds_, 0));
    if (!s.ok()) return s;
    auto run = watch.measure(1);
    if (!run.ok()) return run.status();
    const Schedule::Action action = options_.schedule->action(iteration);
    if (action == Schedule::Action::kWarmup) ++call.warmup;
    if (action != Schedule::Action::kRecord) return {};
    run->pass = iteration;
    call.runs.push_back(*run);
    return {};
}

}  // namespace diopi
