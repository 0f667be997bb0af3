#include "heat_view.hpp"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace diopi {

namespace {

struct Rgb {
    float red, green, blue;
};

/// viridis at equal distances: its lightness grows evenly, also in grey.
constexpr std::array kValues = {Rgb{68, 1, 84},    Rgb{71, 44, 122},  Rgb{59, 81, 139},
                                Rgb{44, 113, 142}, Rgb{33, 144, 141}, Rgb{39, 173, 129},
                                Rgb{92, 200, 99},  Rgb{170, 220, 50}, Rgb{253, 231, 37}};
/// From blue by white to red.
constexpr std::array kDifferences = {Rgb{5, 48, 97},     Rgb{33, 102, 172},  Rgb{67, 147, 195},
                                     Rgb{146, 197, 222}, Rgb{247, 247, 247}, Rgb{244, 165, 130},
                                     Rgb{214, 96, 77},   Rgb{178, 24, 43},   Rgb{103, 0, 31}};
constexpr ImU32 kNanColour = IM_COL32(255, 0, 255, 255), kInfinityColour = IM_COL32(0, 255, 255, 255);

/// The colour at a place from 0 to 1.
ImU32 blend(std::span<const Rgb> colours, double place) {
    const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(colours.size() - 1);
    const auto below = std::min(static_cast<size_t>(at), colours.size() - 2);
    const auto part = static_cast<float>(at - static_cast<double>(below));
    const Rgb &a = colours[below], &b = colours[below + 1];
    const auto mix = [&](float x, float y) { return static_cast<int>(std::lround(x + part * (y - x))); };
    return IM_COL32(mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue), 255);
}

bool fits(const HeatSlice& slice, const Shape& shape) {
    return slice.index.size() == shape.size() &&
           std::equal(shape.begin(), shape.end(), slice.index.begin(),
                      [](int64_t size, int64_t index) { return index < std::max<int64_t>(1, size); });
}

}  // namespace

uint32_t heat_colour(double value, const HeatMap& map, HeatSide side) {
    if (std::isnan(value)) return kNanColour;
    if (std::isinf(value)) return kInfinityColour;
    // Halves, as the range of float64 may have no finite width.
    const double width = map.high / 2 - map.low / 2;
    const double place = width > 0 ? (value / 2 - map.low / 2) / width : 0.5;
    return side == HeatSide::kDifference ? blend(kDifferences, place) : blend(kValues, place);
}

Texture::~Texture() {
    if (number_ != 0) glDeleteTextures(1, &number_);
}

void Texture::upload(int64_t rows, int64_t columns, const std::vector<uint32_t>& points) {
    if (number_ == 0) glGenTextures(1, &number_);
    glBindTexture(GL_TEXTURE_2D, number_);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, static_cast<GLsizei>(columns), static_cast<GLsizei>(rows), 0, GL_RGBA,
                 GL_UNSIGNED_BYTE, points.data());
}

void HeatView::open(const std::string& bundle) {
    path = opened = bundle;
    tensors.clear();
    title.clear();
    problem.clear();
    const Result<Bundle> read = read_bundle(bundle);
    if (!read.ok()) {
        problem = read.error().message;
        return;
    }
    title = fmt::format("{}, {} {}: {}", read->function, read->step, name(read->verdict), read->reason);
    tensors = tensors_of(*read);
    if (tensors.empty()) problem = bundle + " has neither results nor expected values";
    choose_tensor(0);
}

void HeatView::choose_tensor(size_t number) {
    tensor = number;
    if (number >= tensors.size()) return;
    slice = first_slice(tensors[number]);
    choose_side(side);
}

void HeatView::choose_side(HeatSide wanted) {
    side = wanted;
    for (const HeatSide other : {HeatSide::kDifference, HeatSide::kOurs, HeatSide::kTheirs}) {
        if (!has_side(tensors[tensor], side)) side = other;
    }
    const Shape& shape = shape_of(tensors[tensor], side);
    // An output of a wrong shape: a slice of the other side may not fit.
    if (!fits(slice, shape)) slice = last_dims(shape);
    update();
}

void HeatView::update() {
    const BundleTensor& shown = tensors[tensor];
    map = heat_map(shown, side, slice);
    std::vector<uint32_t> points(map.cells.size());
    std::ranges::transform(map.cells, points.begin(), [&](double cell) { return heat_colour(cell, map, side); });
    if (!points.empty()) texture.upload(map.rows, map.columns, points);
}

}  // namespace diopi
