/// Shapes and dtypes of a call's outputs, by the rule that the schema row names. One file per family.
#pragma once

#include "infer/output_spec.hpp"

namespace diopi {

/// Not implemented: the function has no shape rule.
[[nodiscard]] Error undescribed(const Row& row);

/// Brings arguments into the form that the C function takes (one number for all spatial dims becomes a list, an empty
/// pooling stride becomes the kernel size) and describes every output. Contradicting shapes are bad input; a rule
/// that does not exist yet is not implemented.
[[nodiscard]] Result<std::vector<OutputSpec>> infer(Call& call, const ResultHints& hints);

/// The dtype of 4 bytes in the place of one of 8: int32 for int64, float32 for float64; any other stays as it is.
[[nodiscard]] Dtype in_four_bytes(Dtype dtype);

/// Number of terms that are summed into one element of the output: K of accuracy class D. 1 where nothing is summed.
[[nodiscard]] int64_t accumulation_length(const Call& call, const OutputSpec& output);
/// Whether a function that can add to elements replaces them in this call, and so rounds nothing.
[[nodiscard]] bool copies_only(const Call& call);
/// Whether the output is a matrix product, a convolution or a gradient of one by a factor.
[[nodiscard]] bool is_product(const Call& call, const OutputSpec& output);

/// The dtype of an operation on a tensor and another tensor or number, like torch.result_type: a 0-dim tensor or a
/// number only counts when its category (bool, integer, floating, complex) is the higher one.
[[nodiscard]] Dtype result_type(const Tensor& a, const Tensor& b);
[[nodiscard]] Dtype result_type(const Tensor& a, const Scalar& b);

}  // namespace diopi
