#include "kernels/cuda/reduce/reduce.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "kernels/operands/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::cuda {
namespace {

using operands::testing::contiguous;
using operands::testing::Layout;

Reduction planned(const Layout& out, const Layout& in, const Shape& dims) {
    Reduction plan;
    REQUIRE(plan_reduction("op", out.view(), in.view(), dims, plan) == diopiSuccess);
    return plan;
}

/// For each place of the output the places of the input elements that it joins.
using Members = std::map<int64_t, std::multiset<int64_t>>;

Members walked(const Reduction& plan) {
    const auto kept = walk_of<int64_t, 2>(plan.kept);
    const auto joined = walk_of<int64_t, 1>(plan.joined);
    Members members;
    for (int64_t r = 0; r < plan.results; ++r) {
        int64_t places[2], place[1];
        kept.find(r, places);
        for (int64_t i = 0; i < plan.count; ++i) {
            joined.find(i, place);
            members[places[1]].insert(places[0] + place[0]);
        }
    }
    return members;
}

Members counted(const Layout& in, const Layout& kept_out, const Shape& dims) {
    Members members;
    Shape index(in.shape.size(), 0);
    for (int64_t n = 0; n < diopi::numel(in.shape); ++n) {
        int64_t rest = n, from = 0, to = 0;
        for (size_t d = index.size(); d-- > 0; rest /= in.shape[d]) {
            index[d] = rest % in.shape[d];
            from += index[d] * in.strides[d];
            if (std::ranges::find(dims, static_cast<int64_t>(d)) == dims.end()) to += index[d] * kept_out.strides[d];
        }
        members[to].insert(from);
    }
    return members;
}

}  // namespace

TEST_CASE("cuda: a reduction joins the elements of each result, with any strides") {
    const Layout plain = contiguous({2, 3, 4, 5}), permuted{{2, 3, 4, 5}, {1, 2, 6, 24}};
    const Layout backwards{{2, 3, 4, 5}, {60, -20, 5, -1}}, expanded{{2, 3, 4, 5}, {0, 5, 0, 1}};
    for (const Layout& in : {plain, permuted, backwards, expanded}) {
        for (const Shape& dims : {Shape{0}, {1}, {3}, {0, 2}, {1, 3}, {0, 2, 3}, {1, 2}, {0, 1, 2, 3}}) {
            Shape shape = in.shape;
            for (const int64_t d : dims) shape[static_cast<size_t>(d)] = 1;
            const Layout out = contiguous(shape);
            CHECK(walked(planned(out, in, dims)) == counted(in, out, dims));
        }
    }
}

TEST_CASE("cuda: a reduction has as few dimensions as its operands allow") {
    CHECK(planned(contiguous({}), contiguous({2, 3, 4}), {}).joined.rank == 1);
    CHECK(planned(contiguous({2, 3}), contiguous({2, 3, 4}), {-1}).kept.rank == 1);
    const Reduction channels = planned(contiguous({3}), contiguous({2, 3, 4, 5}), {0, 2, 3});
    CHECK(channels.kept.rank == 1);
    CHECK(channels.joined.rank == 2);
    CHECK(channels.joined.sizes[1] == 20);
    CHECK(channels.count == 40);
}

TEST_CASE("cuda: neighbours in memory decide whether a reduction runs across its results") {
    CHECK_FALSE(planned(contiguous({3}), contiguous({3, 4}), {1}).runs_across_results());
    CHECK(planned(contiguous({4}), contiguous({3, 4}), {0}).runs_across_results());
    CHECK_FALSE(planned(contiguous({}), contiguous({3, 4}), {}).runs_across_results());
    const Layout permuted{{3, 4}, {1, 3}};
    CHECK(planned(contiguous({3}), permuted, {1}).runs_across_results());
    CHECK(planned(contiguous({3, 1}), contiguous({3, 1}), {1}).runs_across_results());
}

TEST_CASE("cuda: a reduction over no elements has results, one without results has none") {
    const Reduction over_none = planned(contiguous({3}), contiguous({3, 0}), {1});
    CHECK(over_none.results == 3);
    CHECK(over_none.count == 0);
    CHECK(over_none.joined.numel == 1);
    CHECK(planned(contiguous({0}), contiguous({0, 3}), {1}).results == 0);
    CHECK(planned(contiguous({}), contiguous({}), {-1}).count == 1);
}

TEST_CASE("cuda: dimensions and outputs that do not fit are refused") {
    const Layout in = contiguous({3, 4}), out = contiguous({3});
    const auto refused = [&](const Layout& to, const Shape& dims) {
        Reduction plan;
        CHECK(plan_reduction("diopiSum", to.view(), in.view(), dims, plan) == diopiErrorOccurred);
        return last_error();
    };
    CHECK_THAT(refused(out, {2}), Catch::Contains("diopiSum: dim is 2, but input has shape (3, 4)"));
    CHECK_THAT(refused(out, {1, -1}), Catch::Contains("names dimension 1 twice"));
    CHECK_THAT(refused(out, {0}), Catch::Contains("out has shape (3,), wanted input's (3, 4) reduced over dim"));
    CHECK_THAT(refused(contiguous({3, 1, 1}), {1}), Catch::Contains("reduced over dim"));
}

TEST_CASE("cuda: rows are divided among whole groups of threads, in parts that cover them") {
    for (const int64_t results : {1, 2, 7, 1000, 1 << 20}) {
        for (const int64_t count : {0, 1, 3, 31, 257, 4096, 100000, 1 << 26}) {
            for (const int pack : {1, 4, 8}) {
                const RowShare s = share_rows(results, count, pack);
                INFO(results << " results of " << count << " in packs of " << pack);
                CHECK(std::has_single_bit(static_cast<unsigned>(s.lanes)));
                CHECK((s.lanes <= 32 || s.lanes == static_cast<int>(kThreads)));
                CHECK(s.parts >= (count > 0 ? 1 : 0));
                CHECK(s.part * s.parts >= count);
                CHECK((s.parts <= 1 || s.part * (s.parts - 1) < count));
                CHECK((s.parts <= 1 || s.part % pack == 0));
                const int64_t groups = int64_t{s.launch.blocks} * (kThreads / static_cast<unsigned>(s.lanes));
                CHECK((groups >= results * s.parts || s.launch.blocks == kMostBlocks));
            }
        }
    }
}

TEST_CASE("cuda: short rows share a block, long rows share a device") {
    CHECK(share_rows(1 << 20, 4, 4).lanes == 1);
    CHECK(share_rows(1 << 20, 512, 4).lanes == 32);
    CHECK(share_rows(1 << 20, 1 << 16, 4).lanes == static_cast<int>(kThreads));
    CHECK(share_rows(1 << 20, 1 << 16, 4).parts == 1);
    CHECK(share_rows(4096, 4096, 8).lanes == 32);
    CHECK(share_rows(4095, 4096, 8).lanes == static_cast<int>(kThreads));
    CHECK(share_rows(1, 1 << 26, 4).parts == 1024);
    CHECK(share_rows(1, 0, 1).parts == 1);
}

TEST_CASE("cuda: columns are divided among the threads of blocks, in parts that cover them") {
    for (const int64_t slices : {1, 3, 10000}) {
        for (const int64_t width : {1, 3, 64, 1000, 1 << 20}) {
            for (const int64_t count : {0, 1, 3, 100, 1 << 20}) {
                for (const int pack : {1, 8}) {
                    const ColumnShare s = share_columns(slices, width, count, pack);
                    INFO(slices << " slices of " << count << " x " << width << " in packs of " << pack);
                    const int threads = s.across * s.down;
                    CHECK(std::has_single_bit(static_cast<unsigned>(threads)));
                    CHECK(threads <= static_cast<int>(kThreads));
                    CHECK(s.tiles * s.across * pack >= width);
                    CHECK((s.tiles - 1) * s.across * pack < width);
                    CHECK(s.part * s.parts >= count);
                    CHECK((s.parts <= 1 || s.part * (s.parts - 1) < count));
                    const int64_t groups = int64_t{s.launch.blocks} * (static_cast<int>(kThreads) / threads);
                    CHECK((groups >= slices * s.tiles * s.parts || s.launch.blocks == kMostBlocks));
                }
            }
        }
    }
    CHECK(share_columns(1, 64, 1 << 20, 4).parts > 1);
    CHECK(share_columns(1, 1 << 20, 1 << 10, 4).parts == 1);
}

TEST_CASE("cuda: joined elements are loaded in packs if those of each row are neighbours and aligned") {
    const auto joins = [](const Layout& in, const Layout& out, const Shape& dims, int pack) {
        return joins_packs(planned(out, in, dims), std::array{in.view()}, pack);
    };
    const Layout plain = contiguous({3, 8}), out = contiguous({3});
    CHECK(joins(plain, out, {1}, 4));
    CHECK_FALSE(joins(plain, out, {1}, 1));
    CHECK_FALSE(joins(plain, contiguous({8}), {0}, 4));
    CHECK(joins(contiguous({3, 7}), out, {1}, 4));  // the kernel looks for the first aligned one
    const Layout images = contiguous({2, 3, 8}), odd = contiguous({2, 3, 7}), gaps{{2, 3, 8}, {33, 9, 1}};
    CHECK(joins(images, out, {0, 2}, 4));
    CHECK_FALSE(joins(odd, out, {0, 2}, 4));
    CHECK_FALSE(joins(gaps, out, {0, 2}, 4));
    Layout shifted = images;
    shifted.data += 4;
    CHECK_FALSE(joins(shifted, out, {0, 2}, 4));
    // Two inputs must be aligned alike.
    const Reduction both = planned(out, contiguous({3, 7}), {1});
    CHECK_FALSE(joins_packs(both, std::array{contiguous({3, 7}).view(), contiguous({3, 7}).view()}, 4));
}

TEST_CASE("cuda: neighbouring results are loaded in packs if the beginnings of rows are aligned") {
    const auto keeps = [](const Layout& in, const Layout& out) {
        return keeps_packs(planned(out, in, {0}), std::array{in.view()}, 4);
    };
    CHECK(keeps(contiguous({3, 8}), contiguous({8})));
    CHECK_FALSE(keeps(contiguous({3, 7}), contiguous({7})));
    CHECK_FALSE(keeps({{3, 8}, {9, 1}}, contiguous({8})));
    CHECK_FALSE(keeps({{3, 7}, {8, 1}}, contiguous({7})));
    CHECK_FALSE(keeps({{3, 8}, {32, 2}}, contiguous({8})));
}

TEST_CASE("cuda: a team holds a row up to the limit of a block") {
    for (const bool side_by_side : {false, true}) {
        for (const auto& [tensors, item] : {Held{1, 4}, Held{1, 8}, Held{2, 4}, Held{2, 8}}) {
            for (int64_t size = 1; size < 100000; size = size * 5 / 4 + 1) {
                const RowTeams t = make_teams(1000, size, side_by_side, false, {tensors, item});
                INFO(size << " elements of " << item << " bytes of " << tensors
                          << " tensors, side by side: " << side_by_side);
                const auto many = static_cast<int64_t>(kManyHeldBytes / item) / tensors;
                const auto held = t.holds_few ? static_cast<int64_t>(kFewHeldBytes / item) : many;
                const int64_t most = (side_by_side ? 32 : 1024) * many;
                CHECK(std::has_single_bit(static_cast<unsigned>(t.lanes)));
                CHECK((t.lanes <= 32 || (t.lanes >= 256 && t.lanes <= 1024)));
                CHECK(1 << t.lane_bits == t.lanes);
                CHECK((t.lanes * held >= size || size > most));
                const Launch grid = launch_for(t);
                CHECK(grid.threads % static_cast<unsigned>(t.lanes) == 0);
                CHECK(int64_t{grid.blocks} * (grid.threads / static_cast<unsigned>(t.lanes)) >= t.rows);
            }
        }
    }
}

TEST_CASE("cuda: a block is not larger than a row needs, so that a second one has room") {
    const auto lanes = [](int64_t size) { return make_teams(1000, size, false, true, {1, sizeof(float)}).lanes; };
    CHECK(lanes(8192) == 256);
    CHECK(lanes(8193) == 512);
    CHECK(lanes(16384) == 512);
    CHECK(lanes(16385) == 1024);
}

TEST_CASE("cuda: rows are along any dimension, and side by side if neighbours belong to different rows") {
    const Layout in = contiguous({2, 8, 16});
    const std::array views = {in.view(), in.view()};
    const RowPlan inner = make_rows(views, 2, 4, {1, sizeof(float)});
    CHECK(inner.teams.rows == 16);
    CHECK(inner.teams.size == 16);
    CHECK(inner.teams.packs);
    CHECK_FALSE(inner.teams.side_by_side);
    const RowPlan middle = make_rows(views, 1, 4, {1, sizeof(float)});
    CHECK(middle.teams.rows == 32);
    CHECK(middle.strides[1] == 16);
    CHECK_FALSE(middle.teams.packs);
    CHECK(middle.teams.side_by_side);
    const RowPlan scalar = make_rows(std::array{contiguous({}).view()}, 0, 4, {1, sizeof(float)});
    CHECK(scalar.teams.rows == 1);
    CHECK(scalar.teams.size == 1);
    CHECK_FALSE(make_rows(std::array{contiguous({7}).view()}, 0, 4, {1, sizeof(float)}).teams.side_by_side);
}

TEST_CASE("cuda: channels of tensors without gaps are found by their distance in memory") {
    const Layout plain = contiguous({2, 3, 4, 4}), last{{2, 3, 4, 4}, {48, 1, 12, 3}};
    CHECK(dense_channels(std::array{plain.view(), plain.view()})->inner == 16);
    CHECK(dense_channels(std::array{last.view(), last.view()})->inner == 1);
    CHECK(dense_channels(std::array{last.view()})->channels == 3);
    CHECK_FALSE(dense_channels(std::array{plain.view(), last.view()}));
    CHECK_FALSE(dense_channels(std::array{Layout{{2, 3, 4, 4}, {96, 32, 8, 2}}.view()}));
    CHECK_FALSE(dense_channels(std::array{plain.view(), Layout{{2, 3, 4, 4}, {0, 0, 0, 0}}.view()}));
    Layout shifted = plain;
    shifted.data += 4;
    CHECK_FALSE(dense_channels(std::array{shifted.view()}));
    CHECK(dense_channels(std::array{contiguous({1, 1}).view()})->inner == 1);
    CHECK_FALSE(dense_channels(std::array{contiguous({1 << 16, 1 << 15}).view()}));
}

TEST_CASE("cuda: if channels are innermost, a thread keeps them from step to step") {
    for (const int64_t channels : {3, 64, 96, 2048}) {
        const DenseChannels dense{channels << 20, 1, channels};
        const Launch grid = launch_for_channels(dense, 4);
        CHECK(int64_t{grid.blocks} * grid.threads * 4 % channels == 0);
    }
    CHECK(launch_for_channels({100, 1, 10}, 4).blocks == 1);
    CHECK(launch_for_channels({int64_t{1} << 40, 49, 64}, 4).blocks == kMostBlocks);
}

}  // namespace diopi::cuda
