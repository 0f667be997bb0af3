/// The oracle: expected values of a call, computed by the reference backend in float64 from the same rounded inputs.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "backend/backend.hpp"
#include "call/arg_tensor.hpp"
#include "check/magnitudes.hpp"
#include "core/format.hpp"
#include "infer/infer.hpp"
#include "step/slices.hpp"

namespace diopi {

/// There is one per case: it keeps the widened inputs, which the steps of a case share.
class Oracle {
 public:
    /// Expected outputs, and in-out arguments after the call, in the wide dtype (float64, int64, complex128, bool).
    /// `call` has host tensors, which do not change; `generator` is copied, so that the tested call draws the same
    /// numbers.
    [[nodiscard]] Result<std::vector<ArgTensor>> run(const Call& call, const std::vector<OutputSpec>& outputs);

    /// Sums of the finite terms' magnitudes of one output, S of accuracy class D: the same multilinear call on absolute
    /// values. A part of the terms gives a lower bound of S for a fraction of the work: a result within the bound that
    /// follows from it is within the true one. All terms are used if the function's summed dims are not known.
    enum class Terms { kPart, kAll };
    [[nodiscard]] Result<TensorPtr> magnitude(const Call& call, const OutputSpec& output, Terms terms);

    /// Bounds of one output's errors in a plain, careful computation with the working dtype; not finite where it may
    /// overflow. Not implemented for functions that the reference computes in another way.
    [[nodiscard]] Result<TensorPtr> error_bounds(const Call& call, const std::vector<OutputSpec>& outputs,
                                                 ArgPlace place, Dtype working);
    /// Those of one slice of the call.
    [[nodiscard]] Result<TensorPtr> error_bounds(const SlicedCall& parts, int64_t slice, ArgPlace place, Dtype working);
    /// Frees those of the last call.
    void release_bounds() { known_errors_.reset(); }

    /// S of a product whose factors have fewer bits, as in TF32, which changes denormals most: `roundoff` times S is at
    /// least the sum of all terms with a denormal factor. NaN where an infinite term may have become NaN beside a
    /// factor of 0.
    [[nodiscard]] Result<TensorPtr> magnitude_in_tf32(const Call& call, const OutputSpec& output, double roundoff);

 private:
    [[nodiscard]] static Sign sign_of(const Arg& arg, const TensorPtr& tensor, Sign sign);
    [[nodiscard]] Result<TensorPtr> sum_of_terms(const Call& call, const OutputSpec& output, Sign sign);
    /// With `errors_in`, error bounds in this format instead of results.
    [[nodiscard]] Result<std::vector<ArgTensor>> evaluate(const Call& call, const std::vector<OutputSpec>& outputs,
                                                          Sign sign, std::optional<Format> errors_in = {});
    [[nodiscard]] Result<std::vector<ArgTensor>> evaluate_at_once(const Call& call,
                                                                  const std::vector<OutputSpec>& outputs, Sign sign,
                                                                  std::optional<Format> errors_in);
    [[nodiscard]] Result<TensorPtr> widened(const TensorPtr& tensor, Sign sign, bool shared);

    std::unordered_map<TensorPtr, TensorPtr>
        widened_;  ///< by the tensor, which it keeps alive: no other gets its address
    /// The bounds of all outputs of the last call, which its outputs ask for one after the other.
    struct KnownErrors {
        Call call;  ///< it keeps its tensors alive: no other call has them
        Dtype working;
        std::vector<ArgTensor> bounds;
        [[nodiscard]] bool are_of(const Call& other, Dtype other_working) const;
    };
    std::optional<KnownErrors> known_errors_;
};

}  // namespace diopi
