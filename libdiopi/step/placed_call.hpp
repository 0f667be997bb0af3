/// A step's call on a device, and its results there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "core/status.hpp"
#include "step/placement.hpp"
#include "step/steps.hpp"

namespace diopi {

class PlacedCall {
 public:
    /// Each call has its own outputs and in-out arguments, and its own copy of each generator in the state that the
    /// step gives it. A second call on the same placement shares the const inputs. In-out arguments that random numbers
    /// overwrite are filled like outputs.
    [[nodiscard]] static Result<PlacedCall> create(const Step& step, Placement& placement, Poison poison);

    [[nodiscard]] Call& call() { return call_; }
    [[nodiscard]] const Call& call() const { return call_; }
    /// The call's own generators, in the order of the arguments.
    [[nodiscard]] std::span<const std::unique_ptr<Generator>> generators() const { return generators_; }
    /// The tensor at a place in host memory, after the call; in the result's own shape, even if the memory had
    /// another one (Layout::is_vector). Fails where the call was to make it, and did not.
    [[nodiscard]] Result<TensorPtr> host_tensor(ArgPlace place, Context& context);
    /// After the call and its checks: replaces results with gaps by dense host tensors.
    [[nodiscard]] Status remove_gaps(Context& context);
    /// Drops the opaque tensors that the call made.
    void drop_opaque();
    /// Whether no const tensor has changed since before the call.
    [[nodiscard]] Failure check_inputs(Placement& placement);
    /// Whether nothing was written between the elements of an output or in-out argument with gaps.
    [[nodiscard]] Failure check_gaps(Context& context);
    /// Whether no output and no in-out argument has changed since before a call that returned an error.
    [[nodiscard]] Failure check_untouched(Context& context);
    /// The same for in-out arguments alone.
    [[nodiscard]] Failure check_inouts(Context& context);

 private:
    PlacedCall(const Call& call, Poison poison) : call_(call), poison_(poison) {}
    /// An in-out argument with bytes between its elements, and a copy of it before the call.
    struct Gaps {
        TensorPtr tensor;
        std::string name;
        Tensor before;
    };
    Status note_gaps(const TensorPtr& tensor, std::string name, Context& context);
    Status place_inputs(Placement& placement);
    Status place_outputs(const Step& step, Placement& placement);
    [[nodiscard]] Result<TensorPtr> placed(const TensorPtr& tensor, const Place& place, Placement& placement);

    Call call_;
    Poison poison_;
    std::vector<std::unique_ptr<Generator>> generators_;
    std::vector<TensorPtr> inputs_;  ///< the host tensors for the const arguments
    /// The host tensors of in-out arguments, and their copies.
    std::vector<std::pair<TensorPtr, TensorPtr>> inouts_;
    std::vector<Gaps> gaps_;
    std::vector<ArgPlace> outputs_;                     ///< results that were given memory
    std::vector<std::pair<ArgPlace, Shape>> reshaped_;  ///< results placed in another shape than their own
};

/// Makes the call of the step's maker, and gives the step the opaque tensors that this call made. A function that is
/// missing or declines makes none.
[[nodiscard]] Status take_opaque(Step& step, const Chain& chain, Placement& placement);

}  // namespace diopi
