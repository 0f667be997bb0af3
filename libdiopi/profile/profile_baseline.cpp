#include "profile/profile_baseline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "profile/profile.hpp"

namespace diopi {

namespace {

/// The pace shows how much the speed of arithmetic has changed; that of memory may have changed less. This share of the
/// change counts as uncertainty.
constexpr double kPaceUncertainty = 0.5;
/// Crowded cores make a call up to 1.9 times as long: the uncertainty of the logarithm of its time.
constexpr double kCrowdedUncertainty = 0.25;
/// Fewer passes do not show how much passes differ: the result is uncertain.
constexpr size_t kFewestPasses = 2;

std::string identity(const ProfiledCall& call) {
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", call.function, call.name, call.case_id, call.number, call.phase,
                       call.layer, call.shapes, name(call.dtype));
}

/// Calls with samples by their identity; a repeated call gets a number.
std::map<std::string, const ProfiledCall*> by_identity(const Profile& profile) {
    std::map<std::string, const ProfiledCall*> calls;
    std::map<std::string, int> seen;
    for (const ProfiledCall& call : profile.calls) {
        if (call.runs.empty()) continue;
        std::string id = identity(call);
        const int again = seen[id]++;
        calls[id + fmt::format("|{}", again)] = &call;
    }
    return calls;
}

void take_drift(const Profile& base, const Profile& now, SpeedOptions& options) {
    if (now.has_device_time || base.pace.empty() || now.pace.empty()) return;
    options.drift = median(now.pace) / median(base.pace);
    const auto noise = [](const std::vector<double>& pace) {
        Passes passes;
        for (const double seconds : pace) passes.push_back({seconds});
        return pass_noise(passes);
    };
    const double uncertainty = kPaceUncertainty * std::log(options.drift);
    // A run without a quiet moment is slower than its pace shows.
    const bool measured = base.quietest > 0 && now.quietest > 0;
    const double hidden = measured ? std::log(now.quietest / base.quietest / options.drift) : 0;
    options.drift_noise = std::hypot(std::hypot(noise(base.pace), noise(now.pace)), uncertainty, hidden);
}

SpeedPair pair_of(const Profile& base, const ProfiledCall& base_call, const Profile& now, const ProfiledCall& call) {
    JudgedPasses before = passes_of(base_call, base.has_device_time), after = passes_of(call, now.has_device_time);
    double uncertainty =
        std::hypot(before.is_crowded ? kCrowdedUncertainty : 0, after.is_crowded ? kCrowdedUncertainty : 0);
    if (std::min(before.passes.size(), after.passes.size()) < kFewestPasses) {
        uncertainty = std::numeric_limits<double>::infinity();
    }
    return {std::move(before.passes), std::move(after.passes), uncertainty};
}

void count_verdict(ProfileComparison& comparison, SpeedVerdict verdict) {
    switch (verdict) {
        case SpeedVerdict::kSame:
            ++comparison.same;
            return;
        case SpeedVerdict::kFaster:
            ++comparison.faster;
            return;
        case SpeedVerdict::kSlower:
            ++comparison.slower;
            return;
        case SpeedVerdict::kAmbiguous:
            ++comparison.ambiguous;
            return;
    }
}

ProfileComparison compare_calls(const Profile& base, const Profile& now, const SpeedOptions& options) {
    const auto old_calls = by_identity(base), new_calls = by_identity(now);
    std::vector<SpeedPair> pairs;
    std::vector<const ProfiledCall*> compared;
    std::vector<double> base_times;
    ProfileComparison comparison;
    for (const auto& [id, call] : new_calls) {
        const auto found = old_calls.find(id);
        if (found == old_calls.end()) {
            ++comparison.unknown;
            continue;
        }
        pairs.push_back(pair_of(base, *found->second, now, *call));
        compared.push_back(call);
        base_times.push_back(summary_of(*found->second, base.has_device_time).median);
    }
    for (const auto& [id, call] : old_calls) comparison.gone += new_calls.contains(id) ? 0 : 1;
    comparison.drift = options.drift;
    comparison.compared = static_cast<int64_t>(pairs.size());
    comparison.calls.resize(now.calls.size());
    std::vector<SpeedComparison> verdicts = compare_speed(pairs, options);
    double logs = 0;
    for (size_t i = 0; i < verdicts.size(); ++i) {
        verdicts[i].base = base_times[i];
        logs += std::log(verdicts[i].ratio.value);
        count_verdict(comparison, verdicts[i].verdict);
        comparison.calls[static_cast<size_t>(compared[i] - now.calls.data())] = verdicts[i];
    }
    if (!verdicts.empty()) comparison.geometric_mean = std::exp(logs / static_cast<double>(verdicts.size()));
    return comparison;
}

}  // namespace

Status check_mode(const Profile& base, std::string_view mode) {
    if (base.mode == mode) return {};
    return bad_input(
        fmt::format("the baseline was measured {} and this run {}; give --mode {}", base.mode, mode, base.mode));
}

Result<ProfileComparison> compare_profiles(const Profile& base, const Profile& now) {
    if (Status s = check_mode(base, now.mode); !s.ok()) return s.error();
    if (base.has_device_time != now.has_device_time) {
        return bad_input(
            "the baseline's times are of another clock, the host's or a device's; compare runs on one kind of device");
    }
    SpeedOptions options;
    take_drift(base, now, options);
    return compare_calls(base, now, options);
}

ProfileComparison compare_side_by_side(const Profile& own, const Profile& against) {
    SpeedOptions options;
    options.alternate = true;
    ProfileComparison comparison = compare_calls(against, own, options);
    comparison.against = against.backend;
    comparison.empty_call = against.roofs.empty_call;
    const auto failed = std::ranges::find_if_not(against.calls, &std::string::empty, &ProfiledCall::error);
    if (failed != against.calls.end()) comparison.error = failed->error;
    return comparison;
}

}  // namespace diopi
