/// Reductions, planned on the host: how the threads of a launch share out the elements that are put together.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "kernels/cuda/element/launch.hpp"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cuda {

/// A result is joined by `lanes` threads that take neighbours: a part of a warp, a warp, or a block. With parts > 1
/// blocks join `part` elements each, and a second kernel the parts.
struct RowShare {
    int lanes = 1;
    int64_t parts = 1;
    int64_t part = 0;
    Launch launch;
};

/// A block joins several columns: `across` threads stand side by side, each with its own columns, and `down` threads
/// share the rows of a column. What is left of a block takes further slices of the same form.
struct ColumnShare {
    int across = 1;
    int down = 1;
    int64_t tiles = 1;  ///< a slice's columns for `across` threads
    int64_t parts = 1;
    int64_t part = 0;
    Launch launch;
};

/// `pack`: elements that a thread loads at once.
[[nodiscard]] RowShare share_rows(int64_t results, int64_t count, int pack);
/// `slices` times `width` columns of `count` elements; a thread has `pack` columns.
[[nodiscard]] ColumnShare share_columns(int64_t slices, int64_t width, int64_t count, int pack);

/// Whether the joined elements can be loaded `pack` at a time: neighbours, and aligned wherever a row begins. The
/// beginning of a single input's rows is looked after by the kernel.
[[nodiscard]] bool joins_packs(const Reduction& r, std::span<const View> ins, int pack);
/// The same for neighbouring results.
[[nodiscard]] bool keeps_packs(const Reduction& r, std::span<const View> ins, int pack);

/// A row of `size` elements belongs to a team of `lanes` threads, a power of 2, that hold it or go over it in parts.
/// Lanes are neighbours, or, where neighbours in memory belong to different rows, stand a block's rows apart.
struct RowTeams {
    int64_t rows = 0, size = 0;
    int lanes = 1;
    bool side_by_side = false;  ///< neighbouring threads have neighbouring rows
    bool packs = false;         ///< of rows that are runs, all of them aligned
    bool holds_few = true;
    int lane_bits = 0;  ///< lanes = 2^lane_bits
};

constexpr unsigned kMostRowThreads = 1024;
/// What a thread holds of a row in the compute type, in bytes: of each tensor where it is little, of all where it is
/// much.
constexpr size_t kFewHeldBytes = 32, kManyHeldBytes = 128;

/// What a kernel holds of a row: of how many tensors, and the bytes of an element in the type that is computed in.
struct Held {
    int tensors;
    size_t item;
};

[[nodiscard]] RowTeams make_teams(int64_t rows, int64_t size, bool side_by_side, bool packs, Held held);

/// Operands of one shape as rows along one dimension.
struct RowPlan {
    Nest rows;                                    ///< over the other dimensions
    std::array<int64_t, kMaxOperands> strides{};  ///< of each operand along the row
    RowTeams teams;
};

/// Operand 0 is the output; none is empty. Rows of a 0-dim tensor have one element.
[[nodiscard]] RowPlan make_rows(std::span<const View> operands, int64_t dim, int pack, Held held);
[[nodiscard]] Launch launch_for(const RowTeams& teams);

/// Tensors (N, C, ...) that lie in memory without gaps and in one order, the channels each `inner` elements apart.
struct DenseChannels {
    int64_t numel = 0, inner = 1, channels = 1;
};
/// Nothing where the operands, of one shape and dtype, do not, are not aligned to 16 bytes, or have 2^31 elements.
[[nodiscard]] std::optional<DenseChannels> dense_channels(std::span<const View> operands);
/// `pack` elements for a thread at a time; where channels are innermost, a thread keeps its channels if it can.
[[nodiscard]] Launch launch_for_channels(const DenseChannels& dense, int pack);

/// Strides of (C) along the dimensions of (N, C, ...): a virtual tensor whose places count channels.
[[nodiscard]] std::array<int64_t, kMaxRank> channel_strides();

}  // namespace diopi::cuda
