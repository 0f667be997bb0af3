/// Large calls on parts of their elements: what such a call needs beside its tensors fits into a cache then.
#pragma once

#include <optional>
#include <vector>

#include "call/arg_tensor.hpp"
#include "call/call.hpp"
#include "core/status.hpp"
#include "infer/output_spec.hpp"

namespace diopi {

/// From this number of elements on the oracle computes a call in slices.
inline constexpr int64_t kSlicedElements = int64_t{1} << 23;

/// A call of which each result's element follows from the elements at its place, or from those of its row along the
/// call's dim, on dense tensors of one shape or of one element. All of them outlive it.
class SlicedCall {
 public:
    /// Such a call, of more than `least` elements; nullopt for any other one.
    [[nodiscard]] static std::optional<SlicedCall> create(const Call& call, const std::vector<OutputSpec>& outputs,
                                                          int64_t least = kSlicedElements);

    [[nodiscard]] int64_t slices() const { return outer_slices() * inner_slices(); }
    /// The call on the elements of a slice, tensors of three dims with the rows along the middle one, and its outputs.
    [[nodiscard]] Call call(int64_t slice) const;
    [[nodiscard]] std::vector<OutputSpec> outputs(int64_t slice) const;
    /// The elements of a slice, as those of the call, in a dense tensor of the call's shape.
    [[nodiscard]] Tensor part(int64_t slice, const Tensor& whole) const;
    /// Copies dense results of a slice to their places in `all`, which has none before the first slice.
    [[nodiscard]] Status store(int64_t slice, const std::vector<ArgTensor>& results, std::vector<ArgTensor>& all) const;

 private:
    /// A range of rows: the first index, and the number of indices, of the dims around them.
    struct Range {
        int64_t outer = 0, inner = 0;
        Shape shape;
    };

    SlicedCall(const Call& call, const std::vector<OutputSpec>& outputs, const Shape& shape);
    [[nodiscard]] int64_t outer_slices() const { return (outer_ + outer_step_ - 1) / outer_step_; }
    [[nodiscard]] int64_t inner_slices() const { return (inner_ + inner_step_ - 1) / inner_step_; }
    [[nodiscard]] Range range(int64_t slice) const;

    const Call* call_;
    const std::vector<OutputSpec>* outputs_;
    Shape shape_;
    int64_t outer_ = 1, row_ = 1, inner_ = 1;  ///< sizes of the dims before the rows', along it, and behind it
    int64_t outer_step_ = 1, inner_step_ = 1;  ///< of a slice
};

}  // namespace diopi
