/// The shape rules: one function for each of schema/shape_rules.inc, in the file of its family, and what they share.
///
/// A rule finds its operands by the names that all functions of the rule give them (`input`, `weight`, `out`), or by
/// their roles in the row.
#pragma once

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
/// Turns a list with a single number into one of `rank` such numbers; an error for any other length.
[[nodiscard]] Status spread(Call& call, std::string_view arg, size_t rank);

}  // namespace diopi::infer_rules
