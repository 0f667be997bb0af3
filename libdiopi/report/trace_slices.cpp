#include "report/trace_slices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace diopi {

namespace {

TimeSpan span_of(const ProfiledCall& call, const TimedRun& run) {
    return {run.start, run.cpu * static_cast<double>(call.batch)};
}

/// The slices around a call: its phase, then its layers, the outermost first.
std::vector<std::string> around(const ProfiledCall& call) {
    std::vector<std::string> names = {call.phase};
    for (size_t dot = call.layer.find('.'); dot != std::string::npos; dot = call.layer.find('.', dot + 1)) {
        names.push_back(call.layer.substr(0, dot));
    }
    if (!call.layer.empty()) names.push_back(call.layer);
    return names;
}

/// Opens and closes phases and layers along the calls of one pass.
class Enclosures {
 public:
    Enclosures(std::vector<TraceSlice>& slices, int64_t pass) : slices_(&slices), pass_(pass) {}

    /// Returns the depth of the call inside them.
    int add(const ProfiledCall& call, const TimeSpan& span) {
        const std::vector<std::string> names = around(call);
        size_t common = 0;
        while (common < std::min(names.size(), open_.size()) && names[common] == open_[common].name) ++common;
        close(common);
        for (TraceSlice& outer : open_) outer.span.end = span.end;
        for (size_t depth = common; depth < names.size(); ++depth) {
            const auto kind = depth == 0 ? TraceSlice::Kind::kPhase : TraceSlice::Kind::kLayer;
            open_.push_back({kind, span, static_cast<int>(depth) + 1, 0, 0, names[depth], pass_});
        }
        return static_cast<int>(names.size()) + 1;
    }

    /// Closes all but the outermost `rest`. A phase without a name is not shown.
    void close(size_t rest) {
        while (open_.size() > rest) {
            if (!open_.back().name.empty()) slices_->push_back(std::move(open_.back()));
            open_.pop_back();
        }
    }

 private:
    std::vector<TraceSlice>* slices_;
    int64_t pass_;
    std::vector<TraceSlice> open_;
};

}  // namespace

TimeSpan::TimeSpan(double start, double seconds)
    : begin(std::llround(start * 1e9)), end(std::llround((start + seconds) * 1e9)) {}

std::vector<TraceSlice> trace_slices(const Profile& profile) {
    std::vector<TraceSlice> slices;
    std::map<int64_t, std::vector<TraceSlice>> inside;  // by pass: the slice of a row that encloses them
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        for (size_t r = 0; r < call.runs.size(); ++r) {
            const int64_t pass = call.runs[r].pass;
            std::vector<TraceSlice>& where = call.parent < 0 ? slices : inside[pass];
            where.push_back({TraceSlice::Kind::kCall, span_of(call, call.runs[r]), 0, i, r, "", pass});
        }
    }
    for (auto& [pass, calls] : inside) {
        std::ranges::stable_sort(calls, {}, [](const TraceSlice& slice) { return slice.span.begin; });
        Enclosures enclosures(slices, pass);
        for (TraceSlice& slice : calls) {
            slice.depth = enclosures.add(profile.calls[slice.call], slice.span);
            slices.push_back(slice);
        }
        enclosures.close(0);
    }
    std::ranges::stable_sort(
        slices, {}, [](const TraceSlice& slice) { return std::tuple(slice.span.begin, -slice.span.end, slice.depth); });
    return slices;
}

std::vector<std::pair<size_t, size_t>> backward_flows(const Profile& profile, const std::vector<TraceSlice>& slices) {
    std::vector<std::pair<size_t, size_t>> flows;
    std::map<std::pair<int64_t, int64_t>, size_t> forward;  // by pass and forward id
    for (size_t s = 0; s < slices.size(); ++s) {
        if (slices[s].kind != TraceSlice::Kind::kCall) continue;
        const ProfiledCall& call = profile.calls[slices[s].call];
        if (!call.forward_id) continue;
        const std::pair key(slices[s].pass, *call.forward_id);
        if (call.phase == "forward") {
            forward[key] = s;
        } else if (const auto start = forward.find(key); call.phase == "backward" && start != forward.end()) {
            flows.emplace_back(start->second, s);
            forward.erase(start);
        }
    }
    return flows;
}

}  // namespace diopi
