/// Converts a case to calls: the functions of the standard that it needs, and their arguments.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "call/arg_tensor.hpp"
#include "call/call.hpp"
#include "cases/case.hpp"
#include "core/status.hpp"
#include "infer/infer.hpp"

namespace diopi {

/// The tensors of a case by argument name: one tensor, or the elements of a list; empty for an absent argument.
using CaseTensors = std::vector<std::pair<std::string, TensorList>>;

/// The rows of a case's functions. Null where the standard has no such function. That of a recorded call, whatever its
/// step, is `forward`, alone.
struct CaseRows {
    const Row* forward = nullptr;  ///< takes the case's arguments and makes the outputs
    const Row* inplace = nullptr;
    const Row* backward = nullptr;
    /// The forward function that saves what `backward` needs (max_pool2d with indices); often `forward` itself.
    const Row* saving = nullptr;
};

/// Finds the rows whose arguments fit the case: the scalar form for a number, the form with indices when they are asked
/// for. An operator that the standard does not have is not implemented; arguments that none of its functions takes are
/// bad input.
[[nodiscard]] Result<CaseRows> rows_for(const Case& c);

/// The argument that the tensor is, or is an element of; null when the function has no such argument.
[[nodiscard]] const Arg* arg_of(const Row& row, const CaseTensor& tensor);

/// Fills in the call's inputs from the case's tensors and parameters; outputs stay null. The host owns generators.
[[nodiscard]] Result<Call> bind_call(const Row& row, const Case& c, const CaseTensors& tensors);

/// Whether a case's parameter is no C argument: it describes the result, or chooses the function.
[[nodiscard]] bool is_hint(std::string_view param);

/// Whether that parameter of the operator's cases is the number of a dim, or of several.
[[nodiscard]] bool names_dims(std::string_view op, std::string_view param);

/// keepdim, dtype and four_bytes of the case, if it states them.
[[nodiscard]] ResultHints hints_of(const Case& c);

/// The outputs of the case's call: as they were recorded, or as infer() says.
[[nodiscard]] Result<std::vector<OutputSpec>> outputs_of(Call& call, const Case& c);

/// A gradient that a backward function takes, and its forward output: positions of arguments.
struct IncomingGradient {
    size_t arg = 0, output = 0;
    bool flows = true;  ///< grad_outputs of the case has the output, or names none
};
/// `grad_output` belongs to the first output, `grad_x` to the output x. Bad input where grad_outputs names an output
/// that the forward function does not have, or whose gradient the backward function does not take.
[[nodiscard]] Result<std::vector<IncomingGradient>> incoming_gradients(const Row& backward, const Row& forward,
                                                                       const Case& c);

/// The backward call: it takes arguments and outputs of the forward call by their names, and the incoming gradients by
/// their positions; null for those that are not given. Outputs and opaque arguments stay null.
[[nodiscard]] Result<Call> bind_backward(const Row& row, const Case& c, const Call& forward,
                                         const std::vector<ArgTensor>& gradients);

/// The gradients that the case wants, with their shapes and dtypes: grad_x for each floating x that requires one.
[[nodiscard]] std::vector<OutputSpec> wanted_gradients(const Call& backward, const Case& c, const Call& forward);

/// A contiguous tensor without memory, for planning.
[[nodiscard]] TensorPtr without_memory(const TensorSpec& spec);
/// All tensors of the case, without memory.
[[nodiscard]] CaseTensors shape_tensors(const Case& c);

}  // namespace diopi
