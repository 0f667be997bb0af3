#include "kernels/cuda/pool_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "kernels/operands/testing.hpp"

namespace diopi::cuda {
namespace {

using operands::testing::contiguous;
using operands::testing::Layout;

/// The layout of images of two or three sides whose channels are innermost.
Layout channels_last(const Shape& s) {
    if (s.size() == 5) return {s, {s[1] * s[2] * s[3] * s[4], 1, s[4] * s[3] * s[1], s[4] * s[1], s[1]}};
    return {s, {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}};
}
Images images(const Layout& layout) { return {layout.shape.size() < 5 ? size_t{2} : size_t{3}, layout.view()}; }

using Numbers = std::vector<int64_t>;

struct Side {
    int64_t size, kernel, stride, padding, dilation;
    bool ceil_mode;
};

/// The output sides are those that PyTorch gives.
const std::pair<Side, int64_t> kSides[] = {
    {{12, 6, 6, 0, 1, false}, 2},   {{20, 6, 6, 0, 1, false}, 3},    {{17, 6, 3, 2, 4, true}, 1},
    {{22, 12, 100, 6, 3, true}, 1}, {{17, 6, 3, 2, 2, false}, 4},    {{17, 6, 3, 2, 2, true}, 5},
    {{23, 8, 2, 3, 3, true}, 5},    {{112, 3, 2, 1, 1, false}, 56},  {{26, 2, 1, 1, 1, false}, 27},
    {{4, 3, 2, 0, 2, true}, 1},     {{528, 3, 2, 1, 1, false}, 264}, {{3, 5, 1, 0, 1, true}, 0},
    {{6, 2, 2, 1, 1, true}, 4},     {{5, 2, 3, 1, 1, true}, 2}};

Window window_of(const Side& s) {
    return {{1, s.kernel, s.kernel}, {1, s.stride, s.stride}, {0, s.padding, s.padding}, {1, s.dilation, s.dilation}};
}

/// Elements under each window, by the definition.
std::vector<Numbers> elements_by_window(const Side& s, int64_t windows) {
    std::vector<Numbers> all(static_cast<size_t>(windows));
    for (int64_t w = 0; w < windows; ++w) {
        for (int64_t tap = 0; tap < s.kernel; ++tap) {
            const int64_t at = w * s.stride - s.padding + tap * s.dilation;
            if (at >= 0 && at < s.size) all[static_cast<size_t>(w)].push_back(at);
        }
    }
    return all;
}

template <class Index>
void expect_windows(const Side& s, int64_t windows) {
    const auto side = WindowSide<Index>::of(window_of(s), 1, s.size, windows);
    const auto wanted = elements_by_window(s, windows);
    for (int64_t w = 0; w < windows; ++w) {
        const Range<Index> range = side.elements(static_cast<Index>(w));
        Numbers found;
        for (Index at = range.first; at < range.last; at += side.dilation) found.push_back(at);
        CHECK(found == wanted[static_cast<size_t>(w)]);
        CHECK(range.first >= 0);
    }
    int64_t missed = 0, excess = 0;
    for (int64_t at = 0; at < s.size; ++at) {
        const Range<Index> range = side.holders(static_cast<Index>(at));
        for (int64_t w = 0; w < windows; ++w) {
            const Numbers& held = wanted[static_cast<size_t>(w)];
            const bool holds = std::ranges::find(held, at) != held.end();
            const bool is_in_range = w >= range.first && w < range.last;
            if (holds && !is_in_range) ++missed;
            if (is_in_range && !holds) ++excess;
        }
    }
    CHECK(missed == 0);
    // A dilated window may step over the element: it is in the range and does not name it.
    if (s.dilation == 1) CHECK(excess == 0);
}

template <class Index>
void expect_walk(const Layout& layout, bool is_last, int pack) {
    const Images planes = images(layout);
    const auto walk = PlaneWalk<Index>::of(planes, is_last, pack);
    const auto strides = PlaneStrides<Index>::of(planes);
    std::set<int64_t> places;
    int64_t jumps = 0, before = -pack;
    for (int64_t n = 0; n < planes.numel() / pack; ++n) {
        const PlanePlace<Index> at = walk.find(static_cast<Index>(n));
        const int64_t place = strides.place(at);
        for (int k = 0; k < pack; ++k) places.insert(place + k);
        if (place != before + pack) ++jumps;
        before = place;
    }
    CHECK(static_cast<int64_t>(places.size()) == planes.numel());
    CHECK(jumps == 0);
}

}  // namespace

TEST_CASE("cuda: a window holds its taps inside of the image, and the windows that hold an element are found") {
    for (const auto& [side, windows] : kSides) {
        expect_windows<int32_t>(side, windows);
        expect_windows<int64_t>(side, windows);
    }
}

TEST_CASE("cuda: adaptive parts cover a side, and the parts that hold an element are found") {
    for (const auto& [size, parts] : {std::pair{7, 1}, {7, 7}, {7, 3}, {7, 10}, {39, 40}, {33, 2}, {1, 5}, {64, 7}}) {
        const auto side = PartSide<int32_t>::of(size, parts);
        const auto wide = PartSide<int64_t>::of(size, parts);
        for (int part = 0; part < parts; ++part) {
            const Range<int32_t> held = side.elements(part);
            CHECK(held.first == part * size / parts);
            CHECK(held.last == ((part + 1) * size + parts - 1) / parts);
            CHECK(wide.elements(part).last == held.last);
            for (int at = 0; at < size; ++at) {
                const Range<int32_t> holders = side.holders(at);
                const bool is_held = at >= held.first && at < held.last;
                CHECK((part >= holders.first && part < holders.last) == is_held);
            }
        }
    }
}

TEST_CASE("cuda: pooling's threads take neighbours in memory, each element once") {
    const Shape shape{2, 8, 3, 5};
    expect_walk<int32_t>(contiguous(shape), false, 1);
    expect_walk<int64_t>(contiguous(shape), false, 1);
    expect_walk<int32_t>(channels_last(shape), true, 1);
    expect_walk<int32_t>(channels_last(shape), true, 4);
    expect_walk<int64_t>(channels_last(shape), true, 8);
    expect_walk<int32_t>(contiguous({8, 3, 5}), false, 1);
    expect_walk<int32_t>(contiguous({2, 8, 4, 3, 5}), false, 1);
    expect_walk<int64_t>(channels_last({2, 8, 4, 3, 5}), true, 4);
}

TEST_CASE("cuda: images with the channels last are recognised, also by a single row or column") {
    CHECK(has_channels_last(images(channels_last({2, 3, 4, 5}))));
    CHECK(has_channels_last(images(channels_last({2, 3, 4, 1}))));
    CHECK_FALSE(has_channels_last(images(contiguous({2, 3, 4, 5}))));
    CHECK_FALSE(has_channels_last(images(contiguous({2, 3, 1, 1}))));
    CHECK_FALSE(has_channels_last(images(contiguous({2, 1, 4, 5}))));
    CHECK(has_channels_last(images(channels_last({2, 3, 4, 1, 1}))));
    CHECK_FALSE(has_channels_last(images(contiguous({2, 3, 4, 1, 1}))));
}

TEST_CASE("cuda: packs of channels need neighbours, whole packs and aligned memory") {
    const Layout layout = channels_last({2, 8, 3, 5});
    Images planes = images(layout);
    CHECK(has_channel_packs(planes, 4));
    CHECK_FALSE(has_channel_packs(planes, 16));
    planes.data += 4;
    CHECK_FALSE(has_channel_packs(planes, 4));
    CHECK_FALSE(has_channel_packs(images(contiguous({2, 8, 3, 5})), 4));
    const Layout gaps{{2, 8, 3, 5}, {150, 1, 50, 10}};
    CHECK_FALSE(has_channel_packs(images(gaps), 4));
    CHECK(has_channel_packs(images(gaps), 2));
    const Layout partial{{2, 12, 3, 5}, {240, 1, 80, 16}};
    CHECK_FALSE(has_channel_packs(images(partial), 8));
    CHECK(has_channel_packs(images(partial), 4));
}

TEST_CASE("cuda: pools that do not fit 32 bits are recognised") {
    const int64_t most = INT32_MAX;
    CHECK(fits_32_bits(images(contiguous({1, 1, 1, most}))));
    CHECK_FALSE(fits_32_bits(images(contiguous({1, 1, 2, most}))));
    const Layout wide{{1, 1, 2, 2}, {1, 1, most, 1}};
    CHECK_FALSE(fits_32_bits(images(wide)));
    const Layout backwards{{1, 1, 2, 2}, {1, 1, -most, -1}};
    CHECK_FALSE(fits_32_bits(images(backwards)));
    CHECK(fits_32_bits(window_of({100, 3, 2, 1, 1, false}), {1, 100, 100}));
    CHECK_FALSE(fits_32_bits(window_of({100, 3, most, 1, 1, false}), {1, 100, 100}));
    CHECK_FALSE(fits_32_bits(window_of({100, 3, 2, 1, most, false}), {1, 100, 100}));
    CHECK_FALSE(fits_32_bits(window_of({100, 3, 2, 1, 1, false}), {1, most, most}));
    CHECK(parts_fit_32_bits(46000, 46000));
    CHECK_FALSE(parts_fit_32_bits(46341, 46341));
}

TEST_CASE("cuda: threads share a mean where its window is large") {
    CHECK(slice_bits(1, 1000, false) == 0);
    CHECK(slice_bits(4, 1000, false) == 0);
    CHECK(slice_bits(49, 65536, false) == 4);
    CHECK(slice_bits(1 << 20, 8, false) == 8);
    CHECK(slice_bits(49, 65536, true) == 4);
    CHECK(slice_bits(1 << 20, 8, true) == 4);
    CHECK(slice_bits(49, 1 << 20, true) == 0);
}

}  // namespace diopi::cuda
