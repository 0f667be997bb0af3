/// Reductions, planned on the host: the distribution of the joined elements over the threads of a launch.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "kernels/cuda/element/launch.hpp"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cuda {

/// `lanes` threads that take neighbours join a result: a part of a warp, a warp, or a block. With parts > 1 each block
/// joins `part` elements, and a second kernel joins the parts.
struct RowShare {
    int lanes = 1;
    int64_t parts = 1;
    int64_t part = 0;
    Launch launch;
};

/// A block joins several columns: `across` neighbouring threads have their own columns, and `down` threads share the
/// rows of a column. The other threads of a block take further slices of the same form.
struct ColumnShare {
    int across = 1;
    int down = 1;
    int64_t tiles = 1;  ///< the number of such groups of columns in a slice
    int64_t parts = 1;
    int64_t part = 0;
    Launch launch;
};

/// `pack`: elements that a thread loads at once.
[[nodiscard]] RowShare share_rows(int64_t results, int64_t count, int pack);
/// `slices` times `width` columns of `count` elements; a thread has `pack` columns.
[[nodiscard]] ColumnShare share_columns(int64_t slices, int64_t width, int64_t count, int pack);
/// The number of results of a block that joins parts.
[[nodiscard]] int share_joins(int64_t results);

/// Whether the joined elements can be loaded `pack` at a time: neighbours, and aligned wherever a row begins. For a
/// single input the kernel aligns the beginning of rows itself.
[[nodiscard]] bool joins_packs(const Reduction& r, std::span<const View> ins, int pack);
/// The same for neighbouring results.
[[nodiscard]] bool keeps_packs(const Reduction& r, std::span<const View> ins, int pack);

/// A row of `size` elements belongs to a team of `lanes` threads, a power of 2, that hold it or go over it in parts.
/// Lanes are neighbouring threads, or, if neighbours in memory belong to different rows, as many threads apart as the
/// block has rows.
struct RowTeams {
    int64_t rows = 0, size = 0;
    int lanes = 1;
    bool side_by_side = false;  ///< neighbouring threads have neighbouring rows
    bool packs = false;         ///< every row is an aligned run, and threads load packs
    bool holds_few = true;
    int lane_bits = 0;  ///< lanes = 2^lane_bits
};

constexpr unsigned kMostRowThreads = 1024;
/// Bytes that a thread holds of a row in the compute type: of each tensor for a short row, of all tensors for a long
/// one.
constexpr size_t kFewHeldBytes = 32, kManyHeldBytes = 128;

/// A kernel holds a row of so many tensors, with so many bytes for an element in the compute type.
struct Held {
    int tensors;
    size_t item;
};

[[nodiscard]] RowTeams make_teams(int64_t rows, int64_t size, bool side_by_side, bool packs, Held held);

/// Operands of one shape as rows along one dimension.
struct RowPlan {
    Nest rows;                                    ///< the loops over the other dimensions
    std::array<int64_t, kMaxOperands> strides{};  ///< strides of each operand along the row
    RowTeams teams;
};

/// Operand 0 is the output; no operand is empty. A row of a 0-dim tensor has one element.
[[nodiscard]] RowPlan make_rows(std::span<const View> operands, int64_t dim, int pack, Held held);
[[nodiscard]] Launch launch_for(const RowTeams& teams);

/// Tensors (N, C, ...) without gaps and in one order of memory, with `inner` elements from channel to channel.
struct DenseChannels {
    int64_t numel = 0, inner = 1, channels = 1;
};
/// None if the operands, of one shape and dtype, are not so, are not aligned to 16 bytes, or have 2^31 elements.
[[nodiscard]] std::optional<DenseChannels> dense_channels(std::span<const View> operands);
/// A thread has `pack` elements at a time; if channels are innermost, it keeps its channels where possible.
[[nodiscard]] Launch launch_for_channels(const DenseChannels& dense, int pack);

/// Strides of (C) along the dimensions of (N, C, ...): a virtual tensor whose places count channels.
[[nodiscard]] std::array<int64_t, kMaxRank> channel_strides();

}  // namespace diopi::cuda
