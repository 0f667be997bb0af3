/// The steps of a case: its calls, their inputs, and their expected results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baseline/baseline.hpp"
#include "cases/bind.hpp"
#include "runtime/device.hpp"
#include "runtime/generator.hpp"
#include "step/oracle.hpp"

namespace diopi {

/// One call of a case with host inputs; outputs are null until a device gives them memory.
struct Step {
    std::string name;      ///< "forward", "inplace", "backward"
    std::string function;  ///< "add", "add_inp", "add_backward": the name in reports
    Call call;
    std::vector<OutputSpec> outputs;
    bool has_lost_range = false;          ///< an adaptor made finite inputs infinite, or inputs other than 0 to 0
    std::optional<Call> other_call = {};  ///< with Case::other_params
    /// Whether no tensor of other_call is a result of the step's own options, as a saved norm is.
    bool other_is_consistent = true;
    /// The forward step whose call makes the opaque tensors that this step's call reads; null if it reads none.
    std::shared_ptr<const Step> maker = {};
    std::vector<ArgTensor> made_by_reference = {};  ///< the reference's own opaque tensors

    /// The call as the reference gets it, with its own opaque tensors.
    [[nodiscard]] Call call_of_reference() const;
    /// The result at a place: a new output, or an in-out tensor's spec; nullopt if the call only reads it.
    [[nodiscard]] std::optional<OutputSpec> result_at(ArgPlace place) const;
    /// The dtype whose precision a result has: its own, or that of the tensors that are read if it is a number that the
    /// function gives back.
    [[nodiscard]] Dtype precision_of(const OutputSpec& output) const;
    /// All results, in the order of the arguments.
    [[nodiscard]] std::vector<OutputSpec> results() const;
};

/// The name in reports of the operator's function that makes a step: "add", "add_inp", "add_backward".
[[nodiscard]] std::string function_of(const std::string& op, std::string_view step);

/// The opaque results of the forward function that the gradients' function reads, as its own arguments.
[[nodiscard]] std::vector<ArgTensor> opaque_for(const Row& backward, const Row& forward,
                                                const std::vector<ArgTensor>& results);

/// Gives the expected results of a step.
class Expectations {
 public:
    virtual ~Expectations() = default;
    /// Expected outputs and in-out arguments; empty for a random operator.
    [[nodiscard]] virtual Result<std::vector<ArgTensor>> expected(const Step& step) = 0;
    /// S of accuracy class D of an output, or its lower bound; null where the reference cannot tell.
    [[nodiscard]] TensorPtr magnitude(const Step& step, const OutputSpec& output, Oracle::Terms terms);
    /// Bounds of the output's errors; null where the reference cannot tell.
    [[nodiscard]] TensorPtr error_bounds(const Step& step, const OutputSpec& output);
    /// Those of one slice of the step's call.
    [[nodiscard]] TensorPtr error_bounds(const Step& step, const OutputSpec& output, const SlicedCall& parts,
                                         int64_t slice);
    [[nodiscard]] TensorPtr magnitude_in_tf32(const Step& step, const OutputSpec& output, double roundoff);
    /// Frees the error bounds that are kept for other outputs of the last step.
    void release_bounds() { oracle_.release_bounds(); }

 protected:
    Oracle oracle_;
};

/// Plans the steps of one case and gives their expected values, from a baseline or from the oracle.
class CaseSteps final : public Expectations {
 public:
    /// Draws the inputs, or takes those in `baseline`; `baseline` may be null. Inputs of all steps are made by `memory`
    /// (Placement::input_memory), which outlives the steps.
    [[nodiscard]] static Result<std::unique_ptr<CaseSteps>> create(const Case& c, uint64_t seed,
                                                                   const CaseBaseline* baseline,
                                                                   Device& memory = cpu_device());

    /// "forward", then "inplace" and "backward" if the case has them; the step of a recorded call.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] Result<Step> plan(const std::string& name);
    [[nodiscard]] Result<std::vector<ArgTensor>> expected(const Step& step) override;
    [[nodiscard]] const CaseTensors& tensors() const { return tensors_; }
    /// No other step will be planned: only those inputs stay alive that a planned step has, and no expected values.
    void end_plans();

 private:
    CaseSteps(const Case& c, uint64_t seed, const CaseBaseline* baseline, Device& memory)
        : case_(&c), seed_(seed), baseline_(baseline), memory_(&memory), generator_{c.key(seed), 0} {}
    Status take_inputs(uint64_t seed);
    /// Replaces inputs that the baseline stores, and checks the others against its checksums.
    Status take_stored_inputs();
    [[nodiscard]] Error other_kind(const std::string& input, Dtype stored, Dtype wanted) const;
    Result<Step> plan_forward(const Row& row, const std::string& name);
    Result<Step> plan_backward();
    /// Filled by the case's grad_fill, or by the fill that varies the case: a gradient of ones would make that of a
    /// softmax or a norm 0 everywhere. Null, or zeros if it must not be null, for an output that gets no gradient.
    [[nodiscard]] Result<TensorPtr> incoming_gradient(const IncomingGradient& incoming, const TensorSpec& spec) const;
    [[nodiscard]] Result<std::vector<ArgTensor>> gradients_for(const Step& forward) const;
    /// The baseline's expected values for one of its steps; each of the step's results must be among them.
    [[nodiscard]] Result<std::vector<ArgTensor>> stored(const Step& step, const std::vector<NamedTensor>& values) const;
    void vary_numbers(Call& call) const;
    void lend_generators(Call& call);
    /// The call with the case's other parameters; none if it has none, or another one than `outputs` follow from them.
    [[nodiscard]] std::optional<Call> other_call(const Row& row, const std::vector<OutputSpec>& outputs) const;

    const Case* case_;
    std::optional<Case> other_case_;  ///< with Case::other_params
    uint64_t seed_;
    const CaseBaseline* baseline_;
    Device* memory_;
    Generator generator_;
    std::vector<std::unique_ptr<Generator>> listed_generators_;
    CaseRows rows_;
    CaseTensors tensors_;
    bool plans_more_ = true;
    /// The forward call's expected outputs, which the in-place step shares.
    std::optional<std::vector<ArgTensor>> forward_;
    std::vector<OutputSpec> forward_outputs_;
    std::vector<Dtype> forward_dtypes_;  ///< dtypes of its tensors
};

}  // namespace diopi
