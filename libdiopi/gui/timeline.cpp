#include "gui/timeline.hpp"

#include <algorithm>

namespace diopi {

namespace {

constexpr size_t kDeepest = 6;

/// The number of names in "layers.0.mlp".
size_t depth_of(const std::string& layer) {
    return layer.empty() ? 0 : static_cast<size_t>(std::ranges::count(layer, '.')) + 1;
}

/// The first `names` names of a layer; empty if it has fewer.
std::string outer_layer(const std::string& layer, size_t names) {
    if (depth_of(layer) < names) return "";
    size_t end = 0;
    for (size_t i = 0; i < names; ++i) end = std::min(layer.find('.', end + (i > 0 ? 1 : 0)), layer.size());
    return layer.substr(0, end);
}

/// Neighbours whose layers begin with the same names share a box; a pass back is a layer's second box.
void add_layers(const std::vector<TimelineBox>& calls, size_t lane, std::vector<TimelineBox>& boxes) {
    const TimelineBox* last = nullptr;
    std::string last_name;
    for (const TimelineBox& call : calls) {
        std::string name = outer_layer(call.call->layer, lane + 1);
        const bool goes_on = last != nullptr && name == last_name && last->phase == call.phase;
        if (goes_on && !name.empty()) boxes.back().to = call.to;
        if (!goes_on && !name.empty()) boxes.push_back({name, call.phase, lane, call.from, call.to, nullptr});
        last = &call;
        last_name = std::move(name);
    }
}

}  // namespace

std::optional<Timeline> timeline_of(const KeptProfile& profile) {
    Timeline timeline;
    std::vector<TimelineBox> calls;
    size_t deepest = 0;
    for (const KeptCall& call : profile.calls) {
        if (!call.is_measured()) continue;
        const double end = timeline.seconds + *call.median;
        calls.push_back({call.name, call.phase, 0, timeline.seconds, end, &call});
        timeline.seconds = end;
        deepest = std::max(deepest, std::min(kDeepest, depth_of(call.layer)));
    }
    if (deepest == 0) return std::nullopt;
    timeline.lanes = deepest + 1;
    for (size_t lane = 0; lane < deepest; ++lane) add_layers(calls, lane, timeline.boxes);
    for (TimelineBox& call : calls) {
        call.lane = deepest;
        timeline.boxes.push_back(std::move(call));
    }
    return timeline;
}

}  // namespace diopi
