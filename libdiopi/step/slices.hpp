/// Element-wise calls on parts of their elements: what a large call needs beside its tensors fits into a cache then.
#pragma once

#include <optional>
#include <vector>

#include "call/arg_tensor.hpp"
#include "call/call.hpp"
#include "core/status.hpp"
#include "infer/output_spec.hpp"

namespace diopi {

/// A call of which each result's element follows from the elements at its place, on dense tensors of one shape or of
/// one element. All of them outlive it.
class SlicedCall {
 public:
    /// Such a call, of more than `least` elements; nullopt for any other one.
    [[nodiscard]] static std::optional<SlicedCall> create(const Call& call, const std::vector<OutputSpec>& outputs,
                                                          int64_t least);

    [[nodiscard]] int64_t slices() const;
    /// The call on the elements of a slice as vectors, and its outputs.
    [[nodiscard]] Call call(int64_t slice) const;
    [[nodiscard]] std::vector<OutputSpec> outputs(int64_t slice) const;
    /// Copies dense results of a slice to their places in `all`, which has none before the first slice.
    [[nodiscard]] Status store(int64_t slice, const std::vector<ArgTensor>& results, std::vector<ArgTensor>& all) const;

 private:
    SlicedCall(const Call& call, const std::vector<OutputSpec>& outputs, ShapeView shape)
        : call_(&call), outputs_(&outputs), shape_(shape.begin(), shape.end()), elements_(numel(shape)) {}
    [[nodiscard]] int64_t size(int64_t slice) const;

    const Call* call_;
    const std::vector<OutputSpec>* outputs_;
    Shape shape_;
    int64_t elements_;
};

}  // namespace diopi
