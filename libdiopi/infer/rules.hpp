/// The shape rules: one function for each of schema/shape_rules.inc, in the file of its family, and what they share.
///
/// A rule finds its operands by the names that all functions of the rule give them (`input`, `weight`, `out`), or by
/// their roles in the row.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "infer/output_spec.hpp"

namespace diopi::infer_rules {

using Specs = Result<std::vector<OutputSpec>>;

#define DIOPI_SHAPE_RULE(name) Specs name(Call& call, const ResultHints& hints);
#include "schema/shape_rules.inc"
#undef DIOPI_SHAPE_RULE

/// "diopiAdd: input (3, 4) and other (5,) do not broadcast"
[[nodiscard]] Error contradiction(const Call& call, const std::string& what);
/// The spec of the single output named `arg`.
[[nodiscard]] std::vector<OutputSpec> one(const Call& call, std::string_view arg, TensorSpec spec);
/// The same for the tensor that the function writes: none where it works in place.
[[nodiscard]] std::vector<OutputSpec> written(const Call& call, TensorSpec spec);
/// The position of `dim` from the front; an error where a tensor of that rank has no such dim.
[[nodiscard]] Result<size_t> position_of_dim(const Call& call, int64_t dim, int64_t rank);
/// Whether a result of a dtype may be stored in place in another: a higher category does not go into a lower one.
[[nodiscard]] bool can_cast(Dtype from, Dtype to);
/// Whether a dtype is one of places in a tensor.
[[nodiscard]] inline bool is_index(Dtype dtype) { return dtype == Dtype::int64 || dtype == Dtype::int32; }
/// The message for an argument whose shape is not `wanted`, which `what` names; nullopt if all have that shape or are
/// absent.
[[nodiscard]] std::optional<std::string> wrong_shape(const Call& call, std::initializer_list<const char*> arguments,
                                                     const std::string& what, const Shape& wanted);
/// The dtype of sums of that dtype's elements.
[[nodiscard]] Dtype sum_dtype(Dtype dtype);
/// The dims of input before those of normalized_shape; an error where input does not end in these, or weight or bias
/// has another shape.
[[nodiscard]] Result<Shape> leading_shape(const Call& call);
/// The number of elements that are not 0; nullopt where the values are not at hand.
[[nodiscard]] std::optional<int64_t> count_true(const Tensor& tensor);
/// The result of a tensor that is indexed by tensors.
struct Indexed {
    Shape shape;            ///< of the result
    Shape places;           ///< the shape to which the index tensors broadcast
    size_t at = 0;          ///< the first of its dims in `shape`
    bool is_known = false;  ///< false: the masks' values are not at hand, and their sizes are made up
};
/// input[indices[0], indices[1], ...] of a call with these arguments.
[[nodiscard]] Result<Indexed> indexed_shape(const Call& call);
/// Number of windows that reach over dilation (kernel - 1) + 1 elements and move by `stride`: floor of (size + 2
/// padding + surplus - reach) / stride, plus one; 0 where none fits or the numbers are too large for any tensor.
[[nodiscard]] int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                   int64_t surplus = 0);
/// The factors of a product: the last two const tensors of the row, the left one first.
struct Factors {
    const Tensor& left;
    const Tensor& right;
};
[[nodiscard]] Factors factors_of(const Call& call);
/// The message for heads of attention that do not fit: q must be (n, num_heads * dim), k and v (m, num_kv_heads * dim),
/// num_heads a multiple of num_kv_heads; nullopt if they fit.
[[nodiscard]] std::optional<std::string> wrong_heads(const Call& call, const Tensor& q, const Tensor& k,
                                                     const Tensor& v);
/// Turns a list with a single number into one of `rank` such numbers; an error for any other length.
[[nodiscard]] Status spread(Call& call, std::string_view arg, size_t rank);

}  // namespace diopi::infer_rules
