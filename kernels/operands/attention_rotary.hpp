/// The arguments of rotary embeddings, checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Refuses an x without pairs in its last dimension, an out of another shape, and angles that have not one number for
/// each pair or do not broadcast.
[[nodiscard]] diopiError_t check_rotary(std::string_view op, const View& out, const View& x, const View& cos,
                                        const View& sin);
/// Refuses a query or key other than (tokens, heads * dim) or (tokens, heads, dim), and angles other than (tokens, 1,
/// dim).
[[nodiscard]] diopiError_t check_rotary_heads(std::string_view op, const View& query, const View& key, const View& cos,
                                              const View& sin, int64_t dim);

}  // namespace diopi::operands
