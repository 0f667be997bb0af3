#include "gui/roofline.hpp"

#include <algorithm>

namespace diopi {

namespace {

void add_points(const KeptProfile& profile, Roofline& roofline) {
    double total = 0;
    for (const KeptCall& call : profile.calls) {
        if (!call.is_measured()) continue;
        ++roofline.measured;
        total += *call.median;
        if (call.flops.value_or(0) <= 0 || call.bytes.value_or(0) <= 0) continue;
        roofline.points.push_back({&call, *call.flops / *call.bytes, *call.flops / *call.median, *call.median});
    }
    for (RooflinePoint& point : roofline.points) point.share /= total;
}

/// At least from 0.1 to 1500 operations per byte and six powers of ten below the highest roof; all points are inside,
/// but for much slower ones, which are at the lower edge.
void choose_axes(double highest, Roofline& roofline) {
    const auto [left, right] = std::ranges::minmax(roofline.points, {}, &RooflinePoint::intensity);
    roofline.intensities = {std::min(0.1, left.intensity), 1.5 * std::max(1000.0, right.intensity)};
    const auto [bottom, top] = std::ranges::minmax(roofline.points, {}, &RooflinePoint::rate);
    roofline.rates = {std::max(highest * 1e-6, bottom.rate / 1.5), 2 * std::max(highest, top.rate)};
}

/// A roof is the rate of copies times the intensity, up to the rate of products.
void add_roofs(const std::vector<Roofs::Copy>& copies, double highest, Roofline& roofline) {
    const Roofs::Copy& memory = copies.back();
    const Roofs::Copy& cache = *std::ranges::max_element(copies, {}, &Roofs::Copy::rate);
    const auto add_slope = [&](const char* title, double rate, bool is_soft) {
        roofline.slopes.push_back({title, rate, std::max(roofline.intensities.low, roofline.rates.low / rate),
                                   std::min(highest / rate, roofline.intensities.high), is_soft});
    };
    add_slope(&memory == &cache ? "copies" : "copies in memory", memory.rate, false);
    if (&memory != &cache) add_slope("copies in the cache", cache.rate, true);
    for (RooflineRoof& level : roofline.levels) {
        level.from = std::max(roofline.intensities.low, level.rate / cache.rate);
        level.to = roofline.intensities.high;
    }
}

}  // namespace

std::optional<Roofline> roofline_of(const KeptProfile& profile) {
    Roofline roofline;
    add_points(profile, roofline);
    std::vector<Roofs::Copy> copies = profile.copies;
    std::erase_if(copies, [](const Roofs::Copy& copy) { return copy.rate <= 0; });
    double highest = 0;
    for (const auto& [dtype, rate] : profile.products) {
        if (rate > 0) roofline.levels.push_back({dtype, rate});
        highest = std::max(highest, rate);
    }
    if (roofline.points.empty() || copies.empty() || roofline.levels.empty()) return std::nullopt;
    choose_axes(highest, roofline);
    add_roofs(copies, highest, roofline);
    return roofline;
}

}  // namespace diopi
