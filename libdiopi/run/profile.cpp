#include "run/profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "infer/work.hpp"
#include "run/metered_device.hpp"
#include "run/placed_call.hpp"
#include "run/roofs.hpp"
#include "run/worker_pool.hpp"

namespace diopi {

namespace {

/// Inputs of the cases are drawn anew in each pass where keeping them all would take more memory than this.
constexpr int64_t kMostKept = int64_t{1} << 30;
/// Argument sets of a cold call: together so many last-level caches, as far as the number of sets goes.
constexpr double kCacheRounds = 4;
constexpr int kMostSets = 256;

/// The fewest calls of a pass may take longer than its time. When a call has taken so many times what it may, warm-up
/// included, further passes leave it out.
constexpr double kMostOverrun = 2;

/// One step of a case, from pass to pass.
struct StepUnderTest {
    Step step;
    size_t position = 0;  ///< in Profile::calls
    double spent = 0;     ///< seconds, warm-up included
};

class CaseUnderTest {
 public:
    CaseUnderTest(const Case& c, const ProfileOptions& options) : case_(c), options_(options) {}

    /// Draws and plans; what cannot be planned becomes a call with its trouble, once.
    std::vector<StepUnderTest>& steps(Profile& profile) {
        if (!steps_.empty() || gave_up_) return steps_;
        auto made = CaseSteps::create(case_, options_.seed, nullptr);
        for (const std::string& name : options_.steps) {
            const bool has = name == "forward" || (name == "inplace" ? case_.inplace : case_.backward);
            if (!has) continue;
            auto step = made.ok() ? (*made)->plan(name) : Result<Step>(made.error());
            if (step.ok() && !options_.backend->implements(*step->call.row)) continue;
            const size_t position = place(profile, name, step);
            if (step.ok()) steps_.push_back({std::move(*step), position, spent_of(position)});
        }
        if (made.ok()) drawn_ = std::move(*made);
        gave_up_ = steps_.empty();
        return steps_;
    }

    [[nodiscard]] int64_t kept_bytes() const {
        int64_t bytes = 0;
        for (const StepUnderTest& step : steps_) {
            for (const Value& value : step.step.call.args) {
                const auto* tensor = std::get_if<TensorPtr>(&value);
                if (tensor != nullptr && *tensor != nullptr) bytes += static_cast<int64_t>((*tensor)->nbytes());
            }
        }
        return bytes;
    }

    void forget() {
        known_spent_.clear();
        for (const StepUnderTest& step : steps_) known_spent_.emplace_back(step.position, step.spent);
        steps_.clear();
        drawn_.reset();
    }

 private:
    /// The row of the step in the profile: made in the first pass, found again later.
    size_t place(Profile& profile, const std::string& name, const Result<Step>& step) {
        const std::string id = case_.id();
        for (size_t i = 0; i < profile.calls.size(); ++i) {
            if (profile.calls[i].case_id == id && profile.calls[i].phase == name) return i;
        }
        ProfiledCall& call = profile.calls.emplace_back();
        call.case_id = id;
        call.phase = name;
        call.name = step.ok() ? step->function : case_.op;
        call.dtype = case_.dtype();
        if (!step.ok()) call.trouble = step.error().message;
        return profile.calls.size() - 1;
    }

    [[nodiscard]] double spent_of(size_t position) const {
        for (const auto& [known, spent] : known_spent_) {
            if (known == position) return spent;
        }
        return 0;
    }

    const Case& case_;
    const ProfileOptions& options_;
    std::unique_ptr<CaseSteps> drawn_;  ///< owns the generator of the steps
    std::vector<StepUnderTest> steps_;
    std::vector<std::pair<size_t, double>> known_spent_;
    bool gave_up_ = false;
};

/// Memory of its own for every tensor, inputs too, each at a random place of its page. How tensors lie to each other
/// changes the time of some calls by several percent: what stays the same through a run would look like a property of
/// the call, and differ in the next run.
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

/// Reads and writes more than the caches hold.
class Eviction {
 public:
    explicit Eviction(int64_t cache_bytes)
        : bytes_(static_cast<size_t>(kCacheRounds * static_cast<double>(cache_bytes))) {}
    void operator()() {
        memory_.resize(bytes_);
        for (size_t i = 0; i < memory_.size(); i += kLine) ++memory_[i];
    }

 private:
    static constexpr size_t kLine = 64;
    size_t bytes_;
    std::vector<unsigned char> memory_;
};

class Profiler {
 public:
    Profiler(const ProfileOptions& options, Context& context, Profile& profile)
        : options_(options), context_(context), profile_(profile), chain_(*options.backend) {}

    Status start() {
        auto clock = ProfileClock::start(context_);
        if (!clock.ok()) return clock.status();
        clock_ = std::move(*clock);
        profile_.has_device_time = clock_.has_device_time();
        return {};
    }

    void pass(StepUnderTest& under_test, int64_t pass) {
        ProfiledCall& call = profile_.calls[under_test.position];
        if (!call.trouble.empty()) return;
        Status s = pass == 0 && options_.unmeasured != nullptr ? show(under_test.step) : Status();
        if (s.ok()) s = options_.schedule ? iterate(under_test, call, pass) : sample(under_test, call, pass);
        if (!s.ok()) {
            call.trouble = s.message();
            call.runs.clear();
        }
    }

 private:
    struct Sets {
        std::vector<std::unique_ptr<Placement>> placements;
        std::vector<PlacedCall> placed;
        std::vector<Call*> calls;
        bool need_eviction = false;
    };

    Result<Sets> place(const Step& step, const ProfiledCall& known, int64_t pass) {
        Sets sets;
        size_t wanted = 1;
        if (options_.cold) {
            const double all = kCacheRounds * static_cast<double>(last_level_cache());
            wanted = static_cast<size_t>(std::clamp(std::ceil(all / std::max(known.bytes, 1.0)), 2.0, 1.0 * kMostSets));
            sets.need_eviction = context_.device->is_host() && static_cast<double>(wanted) * known.bytes < all;
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

    /// What the first placed call tells, and the memory that one call takes.
    Status describe(const Step& step, ProfiledCall& call) {
        Placement placement(context_, nullptr, false);
        auto placed = PlacedCall::create(step, placement, Poison::kFirst);
        if (!placed.ok()) return placed.status();
        describe_call(placed->call(), call);
        if (!options_.memory) return {};
        for (const OutputSpec& output : step.outputs) {
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

    /// One call for the tool that wants to see it.
    Status show(const Step& step) {
        Placement placement(context_, nullptr, false);
        auto placed = PlacedCall::create(step, placement, Poison::kFirst);
        if (!placed.ok()) return placed.status();
        Chain chain(*options_.backend);
        chain.add(*options_.unmeasured);
        const Outcome outcome = chain.run(placed->call(), context_);
        context_.release();
        return outcome.ok() ? Status() : failed(outcome.message);
    }

    Status sample(StepUnderTest& under_test, ProfiledCall& call, int64_t pass) {
        TimingOptions timing = options_.timing;
        const bool is_expensive = pass > 0 && under_test.spent >= kMostOverrun * timing.max_seconds;
        if (is_expensive) return {};
        if (call.function.empty()) {
            if (Status s = describe(under_test.step, call); !s.ok()) return s;
        }
        auto sets = place(under_test.step, call, pass);
        if (!sets.ok()) return sets.status();
        const int passes = options_.passes;
        timing.max_seconds /= passes;
        timing.max_warmup_seconds /= passes;
        timing.wanted_interval *= std::sqrt(passes);
        timing.min_samples = (timing.min_samples + passes - 1) / passes;
        timing.min_short_samples = (timing.min_short_samples + passes - 1) / passes;
        if (sets->need_eviction) timing.evict = [this] { eviction_(); };
        const double begin = clock_.now();
        auto samples = time_call(chain_, sets->calls, context_, clock_, timing);
        under_test.spent += clock_.now() - begin;
        if (!samples.ok()) return samples.status();
        take(*samples, call, pass);
        return {};
    }

    void take(Samples& samples, ProfiledCall& call, int64_t pass) const {
        for (TimedRun& run : samples.runs) run.pass = pass;
        call.runs.insert(call.runs.end(), samples.runs.begin(), samples.runs.end());
        call.batch = samples.batch;
        call.warmup += samples.warmup;
        const bool converged =
            summary_of(call, profile_.has_device_time).half_width() <= options_.timing.wanted_interval;
        // A pass that converged or met a plateau leaves the whole where it is: the noise is between the passes.
        const bool met_limit = samples.stop == Stop::kTimeLimit;
        call.stop = name(converged ? Stop::kConverged : met_limit ? Stop::kTimeLimit : Stop::kPlateau);
    }

    Status iterate(StepUnderTest& under_test, ProfiledCall& call, int64_t iteration) {
        if (call.function.empty()) {
            if (Status s = describe(under_test.step, call); !s.ok()) return s;
        }
        auto sets = place(under_test.step, call, iteration);
        if (!sets.ok()) return sets.status();
        if (sets->need_eviction) eviction_();
        EventTimer watch(chain_, sets->calls, context_, clock_);
        if (Status s = watch.create(); !s.ok()) return s;
        auto run = watch.measure(1);
        if (!run.ok()) return run.status();
        const Schedule::Action action = options_.schedule->action(iteration);
        if (action == Schedule::Action::kWarmup) ++call.warmup;
        if (action != Schedule::Action::kRecord) return {};
        run->pass = iteration;
        call.runs.push_back(*run);
        return {};
    }

    const ProfileOptions& options_;
    Context& context_;
    Profile& profile_;
    Chain chain_;
    ProfileClock clock_;
    Eviction eviction_{last_level_cache()};
};

std::vector<Dtype> dtypes_of(const std::vector<Case>& cases) {
    std::vector<Dtype> dtypes;
    for (const Case& c : cases) {
        if (std::ranges::find(dtypes, c.dtype()) == dtypes.end()) dtypes.push_back(c.dtype());
    }
    return dtypes;
}

/// Measures the roofs, at the start and again at the end: the better of the two is nearer to what the machine can do.
Status raise_roofs(const std::vector<Case>& cases, const ProfileOptions& options, Profile& profile) {
    if (!options.roofs) return {};
    auto roofs = measure_roofs(*options.backend, dtypes_of(cases));
    if (!roofs.ok()) return roofs.status();
    profile.roofs = better(profile.roofs, *roofs);
    return {};
}

}  // namespace

void describe_call(const Call& call, ProfiledCall& profiled) {
    profiled.function = call.row->function;
    profiled.shapes.clear();
    bool is_first = true;
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (call.row->args()[i].is_output) continue;
        TensorList tensors;
        if (const auto* tensor = std::get_if<TensorPtr>(&call.args[i])) tensors = {*tensor};
        if (const auto* list = std::get_if<TensorList>(&call.args[i])) tensors = *list;
        for (const TensorPtr& tensor : tensors) {
            if (tensor == nullptr) continue;
            profiled.shapes.push_back(tensor->shape);
            if (is_first) profiled.dtype = tensor->dtype;
            is_first = false;
        }
    }
    const CallWork work = work_of(call);
    profiled.flops = work.flops;
    profiled.bytes = work.bytes;
}

Result<Profile> profile_cases(const std::vector<Case>& cases, const ProfileOptions& options) {
    Profile profile;
    profile.backend = options.backend->name();
    profile.mode = options.cold ? "cold" : "hot";
    profile.seed = options.seed;
    if (Status s = raise_roofs(cases, options, profile); !s.ok()) return s.error();
    auto stream = options.backend->device().create_stream();
    if (!stream.ok()) return stream.error();
    Context context(options.backend->device(), *stream);
    Status status;
    {
        Profiler profiler(options, context, profile);
        status = profiler.start();
        std::vector<CaseUnderTest> tested;
        tested.reserve(cases.size());
        for (const Case& c : cases) tested.emplace_back(c, options);
        const int64_t passes = options.schedule ? options.schedule->iterations() : options.passes;
        int64_t done = 0, kept = 0;
        for (int64_t pass = 0; pass < passes && status.ok(); ++pass) {
            profile.pace.push_back(machine_pace());
            for (CaseUnderTest& each : tested) {
                if (interrupted()) break;
                for (StepUnderTest& step : each.steps(profile)) profiler.pass(step, pass);
                kept += pass == 0 ? each.kept_bytes() : 0;
                if (kept > kMostKept) each.forget();
                if (options.progress) options.progress(++done, passes * static_cast<int64_t>(cases.size()));
            }
        }
    }
    if (Status s = options.backend->device().destroy_stream(*stream); !s.ok() && status.ok()) status = s;
    if (status.ok() && !interrupted()) status = raise_roofs(cases, options, profile);
    if (!status.ok()) return status.error();
    return profile;
}

}  // namespace diopi
