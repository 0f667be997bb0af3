#include "profile/profile.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <random>

#include "call/tensors.hpp"
#include "core/one_thread.hpp"
#include "intercept/call_copy.hpp"
#include "profile/profile_sampler.hpp"
#include "profile_data/profile_json.hpp"
#include "step/steps.hpp"
#include "timing/roofs.hpp"
#include "worker/unusable_device.hpp"
#include "worker/worker_pool.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

/// Inputs of the cases are drawn again in each pass if keeping them all would take more memory than this.
constexpr int64_t kMostKept = int64_t{1} << 30;

/// The measured steps of a case, with inputs.
class DrawnCase {
 public:
    void draw(const Case& c, const ProfileOptions& options) {
        drawn_ = true;
        auto made = CaseSteps::create(c, options.seed, nullptr);
        for (const std::string& name : options.steps) {
            const bool has = name == "forward" || (name == "inplace" ? c.inplace : c.backward);
            if (!has) continue;
            auto step = made.ok() ? (*made)->plan(name) : Result<Step>(made.error());
            if (step.ok() && !options.backend->implements(*step->call.row)) continue;
            ProfiledCall call;
            call.case_id = c.id();
            call.phase = name;
            call.name = step.ok() ? step->function : c.op;
            call.dtype = c.dtype();
            if (!step.ok()) call.error = step.error().message;
            calls_.push_back(std::move(call));
            steps_.push_back(step.ok() ? std::optional(std::move(*step)) : std::nullopt);
        }
        if (made.ok()) owner_ = std::move(*made);
    }

    [[nodiscard]] bool is_drawn() const { return drawn_; }
    /// Null where the step cannot be planned; its call has the reason.
    [[nodiscard]] const Step* step(size_t i) const { return steps_[i] ? &*steps_[i] : nullptr; }
    /// One per step, not measured yet.
    [[nodiscard]] const std::vector<ProfiledCall>& calls() const { return calls_; }

    [[nodiscard]] int64_t bytes() const {
        int64_t bytes = 0;
        for (const auto& step : steps_) {
            if (!step) continue;
            for_each_tensor(step->call, [&](const Place&, const TensorPtr& tensor) {
                bytes += static_cast<int64_t>(tensor->nbytes());
            });
        }
        return bytes;
    }

 private:
    bool drawn_ = false;
    std::unique_ptr<CaseSteps> owner_;  ///< owns the steps' generator
    std::vector<std::optional<Step>> steps_;
    std::vector<ProfiledCall> calls_;
};

Result<Roofs> roofs_in(const WorkOutcome& outcome) {
    if (!outcome.finished()) return failed("measuring the roofs: " + outcome.reason);
    if (!outcome.status.ok()) return failed(outcome.status.message());
    auto part = unpack_profile(outcome.payload);
    return part.ok() ? Result<Roofs>(std::move(part->roofs)) : Result<Roofs>(part.error());
}

std::vector<Dtype> dtypes_of(const std::vector<Case>& cases) {
    std::vector<Dtype> dtypes;
    for (const Case& c : cases) {
        if (std::ranges::find(dtypes, c.dtype()) == dtypes.end()) dtypes.push_back(c.dtype());
    }
    return dtypes;
}

/// The options for the passes of the other implementation: no tools, no recording, no roofs.
ProfileOptions options_against(ProfileOptions options, const Backend& against) {
    options.backend = &against;
    options.roofs = options.activities = false;
    options.empty_call = true;
    options.interceptors.clear();
    options.unmeasured = nullptr;
    options.after_case = nullptr;
    return options;
}

/// An implementation with its calls, as far as they are measured.
struct ProfiledSide {
    ProfileOptions options;
    std::vector<std::vector<ProfiledCall>> calls;  ///< by case
    Profile profile;
};

/// A profile of cases. Each pass over them runs in its own process: the addresses of a process's memory and code change
/// the time of some calls by several percent, for the life of the process. A crash costs only the case. With another
/// implementation each pass is followed by one of its own.
class CaseProfiling {
 public:
    CaseProfiling(const std::vector<Case>& cases, const ProfileOptions& options, const Backend* against)
        : cases_(cases), options_(options), drawn_(cases.size()) {
        add_side(options);
        if (against != nullptr) add_side(options_against(options, *against));
        planned_ = passes() * static_cast<int64_t>(pass_size());
    }

    /// The profiles in the order of the sides.
    Result<std::vector<Profile>> run() {
        draw();
        pass_begin_ = seconds();
        std::vector<size_t> items(static_cast<size_t>(has_budget() ? 1 : passes()) * pass_size());
        for (size_t i = 0; i < items.size(); ++i) items[i] = i;
        for (size_t side = sides_.size(); side-- > 0;) {
            const ProfileOptions& own = sides_[side].options;
            if (own.roofs || own.empty_call) items.insert(items.begin(), kRoofs + side);
        }
        if (options_.roofs) items.push_back(kRoofs);
        PoolOptions pool;
        pool.timeout_s = options_.timeout_s;
        pool.echo_errors = true;
        const Status s = run_in_workers(
            items, pool, [this](size_t item) { return work(item); },
            [this](size_t item, const WorkOutcome& outcome, std::vector<size_t>& more) {
                Status taken = take(item, outcome);
                if (taken.ok() && ends_pass(item)) add_pass(item, more);
                return taken;
            });
        if (!s.ok()) return s.error();
        std::vector<Profile> profiles;
        for (ProfiledSide& side : sides_) profiles.push_back(finish(side));
        return profiles;
    }

 private:
    void add_side(const ProfileOptions& options) {
        ProfiledSide& side = sides_.emplace_back();
        side.options = options;
        side.calls.resize(cases_.size());
        side.profile.backend = options.backend->name();
        side.profile.mode = options.cold ? "cold" : "hot";
        side.profile.seed = options.seed;
    }

    static Profile finish(ProfiledSide& side) {
        Profile& profile = side.profile;
        for (std::vector<ProfiledCall>& calls : side.calls) {
            for (ProfiledCall& call : calls) {
                // Its passes have met no limit of their own, but more passes were planned.
                if (profile.left_out > 0 && call.stop == name(Stop::kPlateau)) call.stop = name(Stop::kTimeLimit);
                for (TimedRun& run : call.runs) run.crowding /= profile.quietest > 0 ? profile.quietest : 1;
            }
            std::ranges::move(calls, std::back_inserter(profile.calls));
        }
        return std::move(profile);
    }

    [[nodiscard]] int64_t passes() const {
        return options_.schedule ? options_.schedule->iterations() : options_.passes;
    }
    [[nodiscard]] bool has_budget() const { return options_.budget_seconds > 0 && !options_.schedule; }
    /// Seconds since the beginning.
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }
    static bool is_roofs(size_t item) { return item >= kRoofs; }
    /// The cases of a pass, those of the other implementation's included.
    [[nodiscard]] size_t pass_size() const { return sides_.size() * cases_.size(); }
    [[nodiscard]] bool ends_pass(size_t item) const { return !is_roofs(item) && (item + 1) % pass_size() == 0; }
    [[nodiscard]] bool ends_process(size_t item) const { return !options_.schedule && (item + 1) % cases_.size() == 0; }
    [[nodiscard]] ProfiledSide& side_of(size_t item) {
        return sides_[is_roofs(item) ? item - kRoofs : item / cases_.size() % sides_.size()];
    }

    /// Draws inputs once for all passes if memory allows; workers are forked from this process, which must have no
    /// threads.
    void draw() {
        const OneThread one_thread;
        int64_t kept = 0;
        for (size_t i = 0; i < cases_.size() && kept <= kMostKept && !interrupted(); ++i) {
            drawn_[i].draw(cases_[i], options_);
            kept += drawn_[i].bytes();
        }
    }

    // Functions that run in the worker.

    WorkAnswer work(size_t item) {
        Profile part;
        const Status s = is_roofs(item) ? measure_roofs(side_of(item).options, part) : measure_case(item, part);
        // The iterations of a schedule warm up one process.
        const bool is_last = is_roofs(item) || ends_process(item) || is_unusable_;
        return {pack_profile(part), is_last, s};
    }

    /// Measures with only one stream: a device that must track whose memory is free takes longer with two.
    Status measure_roofs(const ProfileOptions& options, Profile& part) {
        sampler_.reset();
        side_.reset();
        auto roofs = options.roofs ? diopi::measure_roofs(*options.backend, dtypes_of(cases_))
                                   : measure_empty_call(*options.backend);
        if (roofs.ok()) part.roofs = std::move(*roofs);
        return roofs.status();
    }

    Status measure_case(size_t item, Profile& part) {
        const auto pass = static_cast<int64_t>(item / pass_size());
        const size_t index = item % cases_.size();
        ProfiledSide& side = side_of(item);
        const ProfileOptions& options = side.options;
        if (!sampler_) {
            if (Status s = set_up(side, pass); !s.ok()) return s;
        }
        std::vector<double> pace;
        if (index == 0) pace = {machine_pace()};
        std::vector<ProfiledCall>& calls = side.calls[index];
        const bool is_over = !calls.empty() && std::ranges::none_of(calls, &std::string::empty, &ProfiledCall::error);
        if (!is_over) {
            DrawnCase own;
            DrawnCase& drawn = drawn_[index].is_drawn() ? drawn_[index] : own;
            if (!drawn.is_drawn()) drawn.draw(cases_[index], options_);
            if (calls.empty()) calls = drawn.calls();
            // Another pass measures the calls that an unusable device skips.
            for (size_t i = 0; i < calls.size() && !is_unusable_; ++i) {
                if (pass < passes() || wants_passes(calls[i], side.profile, options))
                    sample(options, drawn.step(i), calls[i], pass);
            }
        }
        part = sampler_->take_events();
        part.pace = std::move(pace);
        part.has_device_time = sampler_->has_device_time();
        part.quietest = sampler_->quietest();
        part.calls = calls;
        return pass == 0 && options.after_case ? options.after_case(index) : Status();
    }

    void sample(const ProfileOptions& options, const Step* step, ProfiledCall& call, int64_t pass) {
        if (step == nullptr || !call.error.empty()) return;
        if (!options.backend->implements(*step->call.row)) {
            call.error = "not implemented";
            return;
        }
        const Status s = sampler_->pass(*step, call, pass);
        if (s.ok()) return;
        call.error = s.message();
        call.runs.clear();
        is_unusable_ = is_unusable(options.backend->device());
        if (is_unusable_) call.error += kStayedInError;
    }

    Status set_up(const ProfiledSide& profiled, int64_t pass) {
        keep_freed_memory();
        // The displacement must differ from that of the sister processes.
        std::mt19937_64 random(static_cast<uint64_t>(pass));
        displacement_.resize(random() % kMostDisplacement);
        auto side = Side::create(*profiled.options.backend);
        if (!side.ok()) return side.status();
        side_ = std::move(*side);
        sampler_.emplace(profiled.options, side_->context(), profiled.profile.quietest);
        return sampler_->start(begin_);
    }

    // Functions that run in this process.

    Status take(size_t item, const WorkOutcome& outcome) {
        ProfiledSide& side = side_of(item);
        Profile& profile = side.profile;
        if (is_roofs(item)) {
            auto roofs = roofs_in(outcome);
            if (roofs.ok()) profile.roofs = better(profile.roofs, *roofs);
            if (side.options.roofs) roofs_seconds_ = seconds() - pass_begin_;
            pass_begin_ = seconds();
            // Without the time of an empty call the comparison only says less.
            return side.options.roofs ? roofs.status() : Status();
        }
        const size_t index = item % cases_.size();
        if (outcome.finished() && !outcome.status.ok()) return failed(outcome.status.message());
        if (outcome.finished()) {
            auto part = unpack_profile(outcome.payload);
            if (!part.ok()) return part.status();
            profile.has_device_time |= part->has_device_time;
            // The worker knew the former value of this process.
            if (part->quietest > 0) profile.quietest = part->quietest;
            profile.pace.insert(profile.pace.end(), part->pace.begin(), part->pace.end());
            std::ranges::move(part->slowdowns, std::back_inserter(profile.slowdowns));
            std::ranges::move(part->activities, std::back_inserter(profile.activities));
            if (!part->unrecorded.empty()) profile.unrecorded = std::move(part->unrecorded);
            side.calls[index] = std::move(part->calls);
        } else {
            fail_case(side, index, outcome.reason);
        }
        ++done_;
        if (options_.progress) options_.progress(done_, planned_);
        return {};
    }

    /// Plans another pass after the last one, if it is not planned yet, or if crowded passes have left too little.
    void add_pass(size_t last, std::vector<size_t>& more) {
        const auto next = static_cast<int64_t>((last + 1) / pass_size());
        const bool fits = !has_budget() || next_pass_fits();
        pass_begin_ = seconds();
        if (next < passes()) {
            if (!has_budget()) return;
            for (ProfiledSide& side : sides_) side.profile.left_out = fits ? 0 : passes() - next;
        } else if (!wants_another(next)) {
            return;
        } else if (fits) {
            planned_ += static_cast<int64_t>(pass_size());
        }
        for (size_t i = 0; fits && i < pass_size(); ++i) more.push_back(last + 1 + i);
    }

    [[nodiscard]] bool wants_another(int64_t next) const {
        if (options_.schedule || next >= kMostPasses * passes()) return false;
        return std::ranges::any_of(sides_, [](const ProfiledSide& side) {
            const auto wants = [&](const ProfiledCall& call) { return wants_passes(call, side.profile, side.options); };
            return std::ranges::any_of(side.calls,
                                       [&](const auto& calls) { return std::ranges::any_of(calls, wants); });
        });
    }

    /// Whether there is time for a pass as long as the last one, and for roofs as long as the first ones.
    [[nodiscard]] bool next_pass_fits() const {
        const double now = seconds();
        return now + (now - pass_begin_) + roofs_seconds_ <= options_.budget_seconds;
    }

    /// The case has killed a worker: with an error for every call it gets no other worker.
    void fail_case(ProfiledSide& side, size_t index, const std::string& reason) {
        std::vector<ProfiledCall>& calls = side.calls[index];
        if (calls.empty()) calls = drawn_[index].calls();
        if (calls.empty()) {
            ProfiledCall& call = calls.emplace_back();
            call.case_id = cases_[index].id();
            call.name = cases_[index].op;
            call.dtype = cases_[index].dtype();
        }
        for (ProfiledCall& call : calls) {
            call.error = reason;
            call.runs.clear();
        }
    }

    static constexpr size_t kMostDisplacement = 1 << 16;
    /// The item that measures the roofs of the first side; the others follow.
    static constexpr size_t kRoofs = std::numeric_limits<size_t>::max() / 2;
    static constexpr int64_t kMostPasses = 2;  ///< the limit, as a multiple of the requested passes

    const std::vector<Case>& cases_;
    const ProfileOptions& options_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::vector<DrawnCase> drawn_;
    std::vector<ProfiledSide> sides_;
    double pass_begin_ = 0;     ///< begin of the current pass, in seconds since the beginning
    double roofs_seconds_ = 0;  ///< time of measuring them
    int64_t done_ = 0, planned_ = 0;
    std::vector<char> displacement_;  ///< part of a worker's heap
    std::unique_ptr<Side> side_;      ///< a worker's side
    std::optional<ProfileSampler> sampler_;
    bool is_unusable_ = false;  ///< the worker's device is unusable
};

}  // namespace

Result<Roofs> profile_roofs(const Backend& backend, double timeout_s) {
    constexpr Dtype kDtypes[] = {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float64};
    PoolOptions pool;
    pool.timeout_s = timeout_s;
    pool.echo_errors = true;
    Roofs best;
    const auto work = [&](size_t) {
        Profile part;
        auto roofs = measure_roofs(backend, kDtypes);
        if (roofs.ok()) part.roofs = std::move(*roofs);
        return WorkAnswer{pack_profile(part), true, roofs.status()};
    };
    const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
        auto roofs = roofs_in(outcome);
        if (roofs.ok()) best = better(best, *roofs);
        return roofs.status();
    };
    if (Status s = run_in_workers({0, 1}, pool, work, done); !s.ok()) return s.error();
    return best;
}

Result<Profile> profile_cases(const std::vector<Case>& cases, const ProfileOptions& options) {
    auto profiles = CaseProfiling(cases, options, nullptr).run();
    if (!profiles.ok()) return profiles.error();
    return std::move((*profiles)[0]);
}

Result<ProfilePair> profile_side_by_side(const std::vector<Case>& cases, const ProfileOptions& options,
                                         const Backend& against) {
    auto profiles = CaseProfiling(cases, options, &against).run();
    if (!profiles.ok()) return profiles.error();
    return ProfilePair{std::move((*profiles)[0]), std::move((*profiles)[1])};
}

}  // namespace diopi
