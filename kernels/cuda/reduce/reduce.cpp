#include "kernels/cuda/reduce/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace diopi::cuda {

namespace {

/// Estimates; with them reductions of 256 MiB reach a copy's bandwidth on an H100 (docs/performance.md).
constexpr int64_t kFullDevice = int64_t{1} << 18;  ///< threads that use a large device fully
constexpr int64_t kBusyDevice = int64_t{1} << 17;  ///< threads that do so if each has several loads
constexpr int64_t kLaneUnits = 4;                  ///< loads of a lane, if there are enough rows
constexpr int64_t kWarpUnits = 4096;               ///< loads of a warp, if there are enough rows
constexpr int64_t kPartUnits = 4;                  ///< least loads of a thread in a part
constexpr int64_t kRowsDown = 4;                   ///< rows that a thread of a column has at least
constexpr int64_t kChannelBlocks = 2048;           ///< blocks that loop over a tensor
constexpr int kWarp = 32;

int64_t ceil_div(int64_t n, int64_t by) { return n / by + (n % by != 0 ? 1 : 0); }

int power_of_2(int64_t n, int most) {
    return n >= most ? most : static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

/// `view` with other sizes.
View resized(const View& view, ShapeView shape) {
    View v = view;
    v.shape = shape;
    v.numel = numel(shape);
    return v;
}

/// Whether all steps but the innermost one of `inner` keep packs aligned.
bool moves_by_packs(const Nest& inner, const Nest& outer, size_t operand, int pack) {
    for (size_t d = 0; d + 1 < static_cast<size_t>(inner.rank); ++d) {
        if (inner.strides[operand][d] % pack != 0) return false;
    }
    for (size_t d = 0; d < static_cast<size_t>(outer.rank); ++d) {
        if (outer.strides[operand][d] % pack != 0 && outer.sizes[d] > 1) return false;
    }
    return true;
}

bool has_packs(const Nest& inner, const Nest& outer, std::span<const View> ins, int pack) {
    if (pack == 1 || inner.inner_size() % pack != 0) return false;
    for (size_t k = 0; k < ins.size(); ++k) {
        if (inner.inner_stride(static_cast<int>(k)) != 1 || !moves_by_packs(inner, outer, k, pack)) return false;
        if (!is_aligned(ins[k].data, static_cast<size_t>(pack * ins[k].item_size()))) return false;
    }
    return true;
}

}  // namespace

RowShare share_rows(int64_t results, int64_t count, int pack) {
    RowShare s;
    s.part = count;
    const int64_t units = ceil_div(count, pack);
    const auto is_busy = [&] { return results >= kBusyDevice / s.lanes; };
    while (s.lanes < kWarp && units > s.lanes * (is_busy() ? kLaneUnits : 1)) s.lanes *= 2;
    if (s.lanes == kWarp && units >= (is_busy() ? kWarpUnits : 2 * int64_t{kThreads})) s.lanes = kThreads;
    if (s.lanes == kThreads) {
        const int64_t wanted = std::min(kFullDevice / kThreads / results, units / (kThreads * kPartUnits));
        if (wanted > 1) s.part = ceil_div(units, wanted) * pack;
        s.parts = ceil_div(count, s.part);
    }
    const int64_t in_block = kThreads / s.lanes;
    s.launch = {static_cast<unsigned>(std::min(ceil_div(results * s.parts, in_block), kMostBlocks)), kThreads};
    return s;
}

ColumnShare share_columns(int64_t slices, int64_t width, int64_t count, int pack) {
    ColumnShare s;
    s.part = count;
    const int64_t units = ceil_div(width, pack);
    const int threads = static_cast<int>(kThreads);
    s.across = power_of_2(units, kWarp);
    s.down = power_of_2(ceil_div(count, kRowsDown), threads / s.across);
    while (s.across * s.down < threads && s.across < units) s.across *= 2;
    s.tiles = ceil_div(units, s.across);
    const int64_t tiles = slices * s.tiles;
    const int64_t in_block = threads / (s.across * s.down);
    const int64_t wanted = std::min(kBusyDevice / threads / tiles, count / (s.down * kRowsDown * 2));
    if (in_block == 1 && wanted > 1) {
        s.part = ceil_div(count, wanted);
        s.parts = ceil_div(count, s.part);
    }
    s.launch = {static_cast<unsigned>(std::min(ceil_div(tiles * s.parts, in_block), kMostBlocks)), kThreads};
    return s;
}

int share_joins(int64_t results) { return power_of_2(results, kWarp); }

bool joins_packs(const Reduction& r, std::span<const View> ins, int pack) {
    // With one input and one run, the kernel itself begins at an aligned element.
    if (pack > 1 && ins.size() == 1 && r.joined.rank == 1 && r.joined.inner_stride(0) == 1) {
        return is_aligned(ins[0].data, static_cast<size_t>(ins[0].item_size()));
    }
    return has_packs(r.joined, r.kept, ins, pack);
}

bool keeps_packs(const Reduction& r, std::span<const View> ins, int pack) {
    return has_packs(r.kept, r.joined, ins, pack);
}

RowTeams make_teams(int64_t rows, int64_t size, bool side_by_side, bool packs, Held held) {
    RowTeams t{rows, size, 1, side_by_side, packs, true, 0};
    const auto few = static_cast<int64_t>(kFewHeldBytes / held.item);
    const auto many = static_cast<int64_t>(kManyHeldBytes / held.item) / held.tensors;
    const int64_t threads = kThreads;
    if (side_by_side) {
        // The rows of a warp are neighbours; a row's lanes are in different warps of a block.
        t.lanes = power_of_2(ceil_div(size, few), static_cast<int>(kMostRowThreads) / kWarp);
        t.holds_few = size <= t.lanes * few;
    } else if (size <= kWarp * many) {
        t.holds_few = size <= kWarp * few;
        t.lanes = power_of_2(ceil_div(size, few), kWarp);
    } else {
        t.holds_few = size <= threads * few;
        // A block that is larger than needed leaves no room for a second one, which loads while the first one waits.
        t.lanes = std::max(static_cast<int>(kThreads), power_of_2(ceil_div(size, many), kMostRowThreads));
    }
    t.lane_bits = std::countr_zero(static_cast<unsigned>(t.lanes));
    return t;
}

RowPlan make_rows(std::span<const View> operands, int64_t dim, int pack, Held held) {
    const auto along = static_cast<size_t>(dim);
    Shape shape(operands[0].shape.begin(), operands[0].shape.end()), row(shape.size(), 1);
    if (!shape.empty()) std::swap(shape[along], row[along]);
    std::array<View, kMaxOperands> outer, inner;
    RowPlan plan;
    for (size_t k = 0; k < operands.size(); ++k) {
        outer[k] = resized(operands[k], shape);
        inner[k] = resized(operands[k], row);
    }
    plan.rows = make_nest({outer.data(), operands.size()});
    const Nest elements = make_nest({inner.data(), operands.size()});
    for (size_t k = 0; k < operands.size(); ++k) plan.strides[k] = elements.strides[k][0];
    const bool packs = has_packs(elements, plan.rows, operands, pack);
    const bool is_across = std::abs(plan.rows.inner_stride(0)) < std::abs(plan.strides[0]);
    plan.teams = make_teams(numel(shape), numel(row), numel(shape) > 1 && is_across, packs, held);
    return plan;
}

Launch launch_for(const RowTeams& t) {
    const unsigned threads = std::max(kThreads, static_cast<unsigned>(t.side_by_side ? t.lanes * kWarp : t.lanes));
    const int64_t blocks = ceil_div(t.rows, static_cast<int64_t>(threads) / t.lanes);
    return {static_cast<unsigned>(std::min(blocks, kMostBlocks)), threads};
}

std::optional<DenseChannels> dense_channels(std::span<const View> operands) {
    const View& out = operands[0];
    const Nest nest = make_nest(operands);
    if (!nest.is_run() || nest.numel > std::numeric_limits<int32_t>::max()) return std::nullopt;
    for (size_t k = 0; k < operands.size(); ++k) {
        if (nest.numel > 1 && nest.strides[k][0] != 1) return std::nullopt;
        if (!is_aligned(operands[k].data, 16)) return std::nullopt;
    }
    const int64_t channels = out.shape[1];
    return DenseChannels{out.numel, channels > 1 ? out.strides[1] : out.numel, channels};
}

Launch launch_for_channels(const DenseChannels& dense, int pack) {
    Launch grid = launch_for(dense.numel, pack);
    if (dense.inner > 1 || grid.blocks <= kChannelBlocks) return grid;
    const int64_t in_block = int64_t{grid.threads} * pack;
    const int64_t multiple = dense.channels / std::gcd(dense.channels, in_block);
    if (multiple <= kChannelBlocks) grid.blocks = static_cast<unsigned>(ceil_div(kChannelBlocks, multiple) * multiple);
    return grid;
}

std::array<int64_t, kMaxRank> channel_strides() {
    std::array<int64_t, kMaxRank> strides{};
    strides[1] = 1;
    return strides;
}

}  // namespace diopi::cuda
