#include "profile_data/profile_figures.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace diopi {

namespace {

bool is_crowded(const TimedRun& run) { return run.crowding > kCrowded; }

/// A pass with crowded moments counts only with this many samples of quiet ones.
constexpr size_t kLeastQuiet = 5;

/// If fewer of the passes had quiet moments, these do not represent the call.
constexpr double kQuietShare = 0.25;

struct PassSamples {
    std::vector<double> quiet;
    bool was_crowded = false;
};

}  // namespace

Summary summary_of(const ProfiledCall& call, bool has_device_time) {
    std::vector<double> quiet, crowded;
    quiet.reserve(call.runs.size());
    for (const TimedRun& run : call.runs) {
        (is_crowded(run) ? crowded : quiet).push_back(seconds_of(run, has_device_time));
    }
    if (quiet.empty()) return summarize(std::move(crowded));
    Summary summary = summarize(std::move(quiet));
    summary.discarded += static_cast<int64_t>(crowded.size());
    return summary;
}

Passes quiet_passes(const ProfiledCall& call, bool has_device_time, double limit) {
    std::map<int64_t, PassSamples> all;
    for (const TimedRun& run : call.runs) {
        if (run.crowding > limit) {
            all[run.pass].was_crowded = true;
        } else {
            all[run.pass].quiet.push_back(seconds_of(run, has_device_time));
        }
    }
    Passes passes;
    for (auto& [number, pass] : all) {
        if (!pass.was_crowded || pass.quiet.size() >= kLeastQuiet) passes.push_back(std::move(pass.quiet));
    }
    return passes;
}

JudgedPasses passes_of(const ProfiledCall& call, bool has_device_time) {
    Passes all = quiet_passes(call, has_device_time, std::numeric_limits<double>::infinity());
    Passes quiet = quiet_passes(call, has_device_time, kCrowded);
    const bool is_crowded = static_cast<double>(quiet.size()) < kQuietShare * static_cast<double>(all.size());
    return {is_crowded ? std::move(all) : std::move(quiet), is_crowded};
}

Roofs better(Roofs a, const Roofs& b) {
    if (a.copies.empty() && a.matmul.empty()) return b;
    for (Roofs::Copy& copy : a.copies) {
        const auto other = std::ranges::find(b.copies, copy.bytes, &Roofs::Copy::bytes);
        if (other != b.copies.end()) copy.rate = std::max(copy.rate, other->rate);
    }
    for (Roofs::Matmul& roof : a.matmul) roof.flops = std::max(roof.flops, matmul_roof(b, roof.dtype));
    if (b.empty_call > 0) a.empty_call = std::min(a.empty_call, b.empty_call);
    return a;
}

double copy_roof(const Roofs& roofs, double bytes) {
    double roof = 0;
    for (size_t i = 0; i < roofs.copies.size(); ++i) {
        const bool is_last = i + 1 == roofs.copies.size();
        const bool too_small = !is_last && static_cast<double>(roofs.copies[i + 1].bytes) <= bytes;
        if (!too_small) roof = std::max(roof, roofs.copies[i].rate);
    }
    return roof;
}

double matmul_roof(const Roofs& roofs, Dtype dtype) {
    const auto found = std::ranges::find(roofs.matmul, dtype, &Roofs::Matmul::dtype);
    return found == roofs.matmul.end() ? 0 : found->flops;
}

double roof_seconds(const Roofs& roofs, const ProfiledCall& call) {
    const double bytes_per_second = copy_roof(roofs, call.bytes), flops_per_second = matmul_roof(roofs, call.dtype);
    const double moving = bytes_per_second > 0 ? call.bytes / bytes_per_second : 0;
    const double working = flops_per_second > 0 ? call.flops / flops_per_second : 0;
    return std::max(moving, working);
}

}  // namespace diopi
