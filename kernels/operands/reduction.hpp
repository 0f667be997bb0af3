/// Reductions, planned on the host: which elements are joined. Shared by the backends cpu and cuda.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kernels/operands/nest.hpp"

namespace diopi::operands {

/// For each of `results` elements kept, `count` elements are joined.
struct Reduction {
    Nest kept;    ///< operands: the inputs, then the outputs
    Nest joined;  ///< operands: the inputs; of one element where count is 0
    int64_t results = 1;
    int64_t count = 1;

    /// Whether neighbours in memory belong to different results, so that loops should run across the results.
    [[nodiscard]] bool runs_across_results() const;
};

using Flags = std::array<bool, kMaxRank>;

/// Joins the marked dimensions of inputs of one shape, of at most kMaxRank dimensions. The output has
/// out_strides[d] along a dimension that is kept, a second one second_strides[d]. Elements are numbered in the order of
/// the first input's memory: row-major where it is contiguous, or where one dimension is joined.
[[nodiscard]] Reduction make_reduction(std::span<const View> ins, const Flags& reduced,
                                       std::span<const int64_t> out_strides,
                                       std::span<const int64_t> second_strides = {});

/// `out` as a 0-dim view where a reduction over `dims` (none: all) joins all dimensions and out has shape (1,), which
/// PyTorch accepts for (); else out itself.
[[nodiscard]] View result_view(const View& out, const View& in, ShapeView dims);

/// Reads the dimensions (counted from either end; none: all) and checks the shape of out: the input's with the reduced
/// dimensions dropped or left as 1; (1,) is accepted for ().
[[nodiscard]] diopiError_t plan_reduction(std::string_view op, const View& out, const View& in, ShapeView dims,
                                          Reduction& plan);
/// plan_reduction, and refuses an out that cannot hold a sum, or a mean, of such an input.
[[nodiscard]] diopiError_t plan_sum(std::string_view op, const View& out, const View& in, ShapeView dims, bool mean,
                                    Reduction& plan);

/// `result`, of a reduction of in over dims, as a view of in's shape whose elements repeat along the joined dimensions;
/// its strides are in `strides`. Refuses another shape.
[[nodiscard]] diopiError_t spread_result(std::string_view op, std::string_view argument, const View& result,
                                         const View& in, ShapeView dims, std::array<int64_t, kMaxRank>& strides,
                                         View& spread);
/// `shape` with 1 in the place of the joined dimensions, which must exist.
[[nodiscard]] Shape kept_shape(ShapeView shape, ShapeView dims);
/// plan_reduction for an input and a second one of the same shape whose elements repeat along the joined dimensions.
[[nodiscard]] diopiError_t plan_centred(std::string_view op, const View& out, const View& in, const View& centre,
                                        ShapeView dims, Reduction& plan);

/// Refuses dtypes without an order, and uint64, which no tile holds.
[[nodiscard]] diopiError_t check_ordered(std::string_view op, const View& in);
/// Refuses the dtypes that argmax does not take.
[[nodiscard]] diopiError_t check_argmax(std::string_view op, const View& out, const View& in);
/// plan_reduction for the places of chosen elements and, unless null, for their values, which are the second output.
/// Refuses to choose among no elements, or among more than the dtype of places can number.
[[nodiscard]] diopiError_t plan_choice(std::string_view op, const View* values, const View& places, const View& in,
                                       ShapeView dims, Reduction& plan);
/// The same over one dimension (null: all), without values.
[[nodiscard]] diopiError_t plan_argmax(std::string_view op, const View& out, const View& in, const int64_t* dim,
                                       Reduction& plan);

}  // namespace diopi::operands
