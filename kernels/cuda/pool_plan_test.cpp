#include "kernels/cuda/pool_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "kernels/operands/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::cuda {
namespace {

using operands::testing::contiguous;
using operands::testing::Layout;

Layout channels_last(const Shape& s) { return {s, {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}}; }

using Numbers = std::vector<int64_t>;

diopiSize_t list(const Numbers& numbers) { return {numbers.data(), static_cast<int64_t>(numbers.size())}; }

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
    return {{s.kernel, s.kernel}, {s.stride, s.stride}, {s.padding, s.padding}, {s.dilation, s.dilation}};
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
    const auto side = WindowSide<Index>::of(window_of(s), 0, s.size, windows);
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
    const Planes planes(layout.view());
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

TEST_CASE("cuda: as many windows stand along a side as PyTorch says") {
    for (const auto& [side, windows] : kSides) {
        INFO(side.size << " elements, kernel " << side.kernel << ", stride " << side.stride);
        CHECK(window_of(side).count(1, side.size, side.ceil_mode) == windows);
    }
}

TEST_CASE("cuda: a window holds its taps inside of the image, and an element knows the windows that hold it") {
    for (const auto& [side, windows] : kSides) {
        expect_windows<int32_t>(side, windows);
        expect_windows<int64_t>(side, windows);
    }
}

TEST_CASE("cuda: adaptive parts cover a side, and an element knows the parts that hold it") {
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
}

TEST_CASE("cuda: images with the channels last are known, also by a single row or column") {
    CHECK(Planes(channels_last({2, 3, 4, 5}).view()).has_channels_last());
    CHECK(Planes(channels_last({2, 3, 4, 1}).view()).has_channels_last());
    CHECK_FALSE(Planes(contiguous({2, 3, 4, 5}).view()).has_channels_last());
    CHECK_FALSE(Planes(contiguous({2, 3, 1, 1}).view()).has_channels_last());
    CHECK_FALSE(Planes(contiguous({2, 1, 4, 5}).view()).has_channels_last());
    CHECK(Planes(contiguous({3, 4, 5}).view()).sizes == std::array<int64_t, 4>{1, 3, 4, 5});
}

TEST_CASE("cuda: packs of channels need neighbours, whole packs and aligned memory") {
    const Layout layout = channels_last({2, 8, 3, 5});
    const View v = layout.view();
    const Planes planes(v);
    CHECK(planes.has_channel_packs(v.data, 4));
    CHECK_FALSE(planes.has_channel_packs(v.data + 4, 4));
    CHECK_FALSE(planes.has_channel_packs(v.data, 16));
    CHECK_FALSE(Planes(contiguous({2, 8, 3, 5}).view()).has_channel_packs(v.data, 4));
    const Layout gaps{{2, 8, 3, 5}, {150, 1, 50, 10}};
    CHECK_FALSE(Planes(gaps.view()).has_channel_packs(v.data, 4));
    CHECK(Planes(gaps.view()).has_channel_packs(v.data, 2));
    const Layout partial{{2, 12, 3, 5}, {240, 1, 80, 16}};
    CHECK_FALSE(Planes(partial.view()).has_channel_packs(v.data, 8));
    CHECK(Planes(partial.view()).has_channel_packs(v.data, 4));
}

TEST_CASE("cuda: what does not fit 32 bits in pooling is known") {
    const int64_t most = INT32_MAX;
    CHECK(Planes(contiguous({1, 1, 1, most}).view()).fits_32_bits());
    CHECK_FALSE(Planes(contiguous({1, 1, 2, most}).view()).fits_32_bits());
    const Layout wide{{1, 1, 2, 2}, {1, 1, most, 1}};
    CHECK_FALSE(Planes(wide.view()).fits_32_bits());
    const Layout backwards{{1, 1, 2, 2}, {1, 1, -most, -1}};
    CHECK_FALSE(Planes(backwards.view()).fits_32_bits());
    CHECK(window_of({100, 3, 2, 1, 1, false}).fits_32_bits(0, 100));
    CHECK_FALSE(window_of({100, 3, most, 1, 1, false}).fits_32_bits(0, 100));
    CHECK_FALSE(window_of({100, 3, 2, 1, most, false}).fits_32_bits(0, 100));
    CHECK_FALSE(window_of({100, 3, 2, 1, 1, false}).fits_32_bits(0, most));
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

TEST_CASE("cuda: pooling refuses what it cannot read, and says what it wants") {
    const Layout x = contiguous({1, 4, 4}), out = contiguous({1, 2, 2});
    const Numbers two{2}, none{}, zero{0}, one{1};
    const auto read = [&](const Layout& in, const Layout& to, const Numbers& kernel, const Numbers& padding) {
        Window window;
        const WindowArguments arguments{list(kernel), list(none), list(padding), list(one), false};
        return read_window("op", in.view(), to.view(), arguments, window);
    };
    CHECK(read(x, out, two, zero) == diopiSuccess);
    CHECK(read(contiguous({1, 4, 4}, Dtype::int32), out, two, zero) == diopiDtypeNotSupported);
    CHECK_THAT(last_error(), Catch::Contains("op: input is int32, wanted a floating dtype"));
    CHECK(read(contiguous({4, 4}), out, two, zero) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("wanted (N, C, H, W) or (C, H, W)"));
    CHECK(read(x, contiguous({1, 3, 2}), two, zero) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("op: out has shape (1, 3, 2), wanted (1, 2, 2)"));
    CHECK(read(x, out, none, zero) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("kernel_size is empty"));
    CHECK(read(x, out, two, two) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("at most half the dilated kernel"));
    CHECK(read(x, out, zero, zero) == diopiErrorOccurred);
}

}  // namespace diopi::cuda
