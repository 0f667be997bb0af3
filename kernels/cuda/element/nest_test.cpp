#include "kernels/cuda/element/nest.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "kernels/cuda/element/launch.hpp"
#include "kernels/operands/testing.hpp"

namespace diopi::cuda {
namespace {

using operands::testing::contiguous;
using operands::testing::Layout;

template <class Index, size_t kCount>
void expect_places(const std::array<View, kCount>& views) {
    const Nest nest = make_nest(views);
    const auto walk = walk_of<Index, static_cast<int>(kCount)>(nest);
    // The walk visits each element of the output once, with the inputs' elements at the same index.
    std::vector<std::array<int64_t, kCount>> wanted, found;
    const ShapeView shape = views[0].shape;
    Shape index(shape.size(), 0);
    for (int64_t n = 0; n < views[0].numel; ++n) {
        int64_t rest = n;
        for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
        auto& places = wanted.emplace_back();
        for (size_t k = 0; k < kCount; ++k) {
            const size_t missing = shape.size() - views[k].shape.size();
            for (size_t d = missing; d < shape.size(); ++d) {
                if (views[k].shape[d - missing] != 1) places[k] += index[d] * views[k].strides[d - missing];
            }
        }
        Index at[kCount];
        walk.find(static_cast<Index>(n), at);
        auto& computed = found.emplace_back();
        for (size_t k = 0; k < kCount; ++k) computed[k] = at[k];
    }
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    CHECK(wanted == found);
}

template <size_t kCount>
void expect_places_in_both(const std::array<View, kCount>& views) {
    expect_places<int32_t>(views);
    expect_places<int64_t>(views);
}

}  // namespace

TEST_CASE("cuda: a fast size gives the same quotient as a division") {
    std::mt19937 random(1);
    std::vector<int32_t> sizes = {1, 2, 3, 5, 7, 64, 641, 1000, 65535, 65536, 65537, (1 << 30) - 1, 1 << 30, INT32_MAX};
    for (int i = 0; i < 200; ++i) sizes.push_back(static_cast<int32_t>(random() >> (1 + random() % 31)) | 1);
    for (const int32_t size : sizes) {
        const FastSize fast = FastSize::of(size);
        std::vector<int32_t> numbers = {0, 1, size - 1, size, INT32_MAX - 1, INT32_MAX};
        for (int64_t multiple = size; multiple < INT32_MAX; multiple = multiple * 3 + size) {
            const auto whole = static_cast<int32_t>(multiple / size * size);
            numbers.insert(numbers.end(), {whole - 1, whole, whole + 1});
        }
        for (int i = 0; i < 50; ++i) numbers.push_back(static_cast<int32_t>(random() >> 1));
        INFO(size);
        CHECK(fast.value() == size);
        CHECK(std::ranges::all_of(numbers, [&](int32_t n) { return fast.quotient(n) == n / size; }));
    }
}

TEST_CASE("cuda: a 0-dim output is a run of one element") {
    const Layout scalar = contiguous({});
    const Nest nest = make_nest(std::array{scalar.view(), scalar.view()});
    CHECK(nest.rank == 1);
    CHECK(nest.sizes[0] == 1);
    CHECK(nest.is_run());
    expect_places_in_both(std::array{scalar.view(), scalar.view()});
}

TEST_CASE("cuda: a walk visits every element once, with the operands side by side") {
    const Layout out = contiguous({2, 3, 4, 5});
    const Layout permuted{{2, 3, 4, 5}, {1, 2, 6, 24}};
    const Layout backwards{{2, 3, 4, 5}, {60, -20, 5, -1}};
    const Layout row = contiguous({5}), column = contiguous({3, 1, 1}), one = contiguous({1});
    expect_places_in_both(std::array{out.view(), permuted.view(), row.view()});
    expect_places_in_both(std::array{permuted.view(), out.view(), column.view(), one.view()});
    expect_places_in_both(std::array{out.view(), backwards.view()});
    expect_places_in_both(std::array{backwards.view(), column.view(), row.view()});
}

TEST_CASE("cuda: the halves of a nest visit the same elements as the nest") {
    const Layout out = contiguous({4, 5, 3}), permuted{{4, 5, 3}, {1, -4, 20}}, row = contiguous({3});
    const std::array views = {out.view(), permuted.view(), row.view()};
    const Nest nest = make_nest(views);
    const Halves halves = split(nest);
    std::vector<std::array<int64_t, 3>> wanted, found;
    const auto collect = [](const Nest& part, const std::array<int64_t, kMaxOperands>& first, auto& places) {
        const auto walk = walk_of<int64_t, 3>(part);
        for (int64_t n = 0; n < part.numel; ++n) {
            int64_t at[3];
            walk.find(n, at);
            places.push_back({at[0] + first[0], at[1] + first[1], at[2] + first[2]});
        }
    };
    collect(nest, {}, wanted);
    collect(halves.nests[0], {}, found);
    collect(halves.nests[1], halves.places, found);
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    CHECK(wanted == found);
}

TEST_CASE("cuda: a nest that does not fit 32 bits is cut until its parts do") {
    const int64_t most = INT32_MAX;
    const Layout large = contiguous({3, most}), far{{2, 2, 2}, {4 * most, most, 1}}, near = contiguous({2, 2, 2});
    CHECK(split(make_nest(std::array{large.view()})).places[0] == 3 * most / 2);
    const Nest nest = make_nest(std::array{near.view(), far.view()});
    const Halves halves = split(nest);
    CHECK_FALSE(nest.fits_32_bits());
    CHECK(halves.places == std::array<int64_t, kMaxOperands>{4, 4 * most});
    CHECK(halves.nests[0].numel == 4);
    const Halves quarters = split(halves.nests[1]);
    CHECK(quarters.places == std::array<int64_t, kMaxOperands>{2, most});
    CHECK(quarters.nests[0].fits_32_bits());
    CHECK(quarters.nests[1].fits_32_bits());
}

TEST_CASE("cuda: a nest is walked in packs if every operand has or repeats them") {
    const auto packed = [](const Layout& out, const Layout& in) {
        return in_packs(make_nest(std::array{out.view(), in.view()}), 4);
    };
    const Layout out = contiguous({3, 8});
    const auto row = packed(out, {{3, 8}, {0, 1}});
    REQUIRE(row);
    CHECK(row->numel == 6);
    CHECK(row->inner_size() == 2);
    CHECK(row->inner_stride(0) == 4);
    CHECK(row->inner_stride(1) == 4);
    CHECK(row->strides[1][0] == 0);
    const auto column = packed(out, {{3, 8}, {1, 0}});
    REQUIRE(column);
    CHECK(column->inner_stride(1) == 0);
    CHECK(column->strides[1][0] == 1);  // one element for each pack needs no alignment
    CHECK(packed({{3, 8}, {12, 1}}, {{3, 8}, {16, 1}}));
    CHECK_FALSE(packed(contiguous({3, 6}), {{3, 6}, {0, 1}}));  // no whole packs
    CHECK_FALSE(packed({{3, 8}, {9, 1}}, {{3, 8}, {0, 1}}));    // rows are not aligned
    CHECK_FALSE(packed(out, {{3, 8}, {9, 1}}));
    CHECK_FALSE(packed(out, {{3, 8}, {16, 2}}));  // not neighbours
    CHECK_FALSE(packed({{3, 8}, {16, 2}}, {{3, 8}, {0, 1}}));
}

TEST_CASE("cuda: a launch covers its items with whole blocks, and loops beyond the maximum") {
    CHECK(launch_for(1, 4).blocks == 1);
    CHECK(launch_for(kThreads * 4, 4).blocks == 1);
    CHECK(launch_for(kThreads * 4 + 1, 4).blocks == 2);
    CHECK(launch_for(kThreads * kMostBlocks, 1).blocks == kMostBlocks);
    CHECK(launch_for(int64_t{1} << 40, 1).blocks == kMostBlocks);
    CHECK(launch_for(INT64_MAX, 8).blocks == kMostBlocks);
    CHECK(launch_for(5, 1).threads == kThreads);
}

}  // namespace diopi::cuda
