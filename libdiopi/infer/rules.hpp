/// The shape rules, one function per ShapeRule, in the file of their family.
#pragma once

#include "infer/infer.hpp"

namespace diopi::infer_rules {

using Specs = Result<std::vector<OutputSpec>>;

// elementwise.cpp
Specs same(Call& call, const ResultHints& hints);
Specs floating(Call& call, const ResultHints& hints);
Specs in_place(Call& call, const ResultHints& hints);
Specs broadcast(Call& call, const ResultHints& hints);
Specs broadcast_div(Call& call, const ResultHints& hints);
// conv.cpp
Specs convolution(Call& call, const ResultHints& hints);
// norm.cpp
Specs batch_norm(Call& call, const ResultHints& hints);
Specs layer_norm(Call& call, const ResultHints& hints);
// pool.cpp
Specs max_pool(Call& call, const ResultHints& hints);
Specs adaptive_pool(Call& call, const ResultHints& hints);
// linear.cpp
Specs linear(Call& call, const ResultHints& hints);
Specs matmul(Call& call, const ResultHints& hints);
Specs add_product(Call& call, const ResultHints& hints);
// loss.cpp
Specs nll_loss(Call& call, const ResultHints& hints);
Specs cross_entropy(Call& call, const ResultHints& hints);
// reduction.cpp
Specs reduce_mean(Call& call, const ResultHints& hints);
Specs reduce_sum(Call& call, const ResultHints& hints);
Specs reduce_index(Call& call, const ResultHints& hints);
// shape.cpp
Specs cat(Call& call, const ResultHints& hints);
Specs sized(Call& call, const ResultHints& hints);
Specs expand(Call& call, const ResultHints& hints);
Specs copy(Call& call, const ResultHints& hints);
Specs arange(Call& call, const ResultHints& hints);
// index.cpp
Specs embedding(Call& call, const ResultHints& hints);
// gradients.cpp
Specs gradients(Call& call, const ResultHints& hints);

/// "diopiAdd: input (3, 4) and other (5,) do not broadcast"
[[nodiscard]] Error contradiction(const Call& call, const std::string& what);
/// The spec of the single output named `arg`.
[[nodiscard]] std::vector<OutputSpec> one(const Call& call, std::string_view arg, TensorSpec spec);
/// Positions of a window that reaches over dilation (kernel - 1) + 1 elements and moves by `stride`: floor of
/// (size + 2 padding + surplus - reach) / stride, plus one; 0 where it does not fit or the numbers are beyond any
/// tensor.
[[nodiscard]] int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                   int64_t surplus = 0);
/// Makes a list of `rank` integers of one that holds a single number; an error for any other length.
[[nodiscard]] Status spread(Call& call, std::string_view arg, size_t rank);

}  // namespace diopi::infer_rules
