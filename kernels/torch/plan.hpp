/// How PyTorch does the work of a function of the standard: the overload, and where its arguments come from.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <utility>
#include <vector>

#include "aten/aten_call.hpp"
#include "schema/schema.hpp"

namespace diopi::torch_impl {

struct Plan {
    /// The source of one argument of ATen.
    struct Source {
        enum class Kind : uint8_t {
            kParameter,    ///< a parameter of the C function
            kValue,        ///< always this value
            kResult,       ///< the tensor of a result, which ATen writes
            kKeepdim,      ///< whether the first result has as many dims as the first input
            kWanted,       ///< for each result whether it is wanted
            kResultDtype,  ///< the dtype of the first result
            kShape,        ///< what AtenShape says, of a parameter; nothing if that is absent
        };
        Kind kind = Kind::kValue;
        int parameter = -1;
        AtenArgument::Form form = AtenArgument::Form::kPlain;
        c10::IValue value{};
        AtenShape::Form shape = AtenShape::Form::kFrom;
        int64_t dim = 0;  ///< of `shape`, and of a folded tensor
    };
    /// A value that a parameter must have.
    struct Condition {
        int parameter = -1;
        std::string_view text;  ///< as the table has it, a text without its quotes
        double number = 0;      ///< of a number
    };
    /// A parameter that receives the gradient of an argument of ATen.
    struct Gradient {
        size_t argument = 0;
        int parameter = -1;
    };

    explicit Plan(const c10::OperatorHandle& op_) : op(op_) {}

    c10::OperatorHandle op;
    std::vector<Source> sources;  ///< one per argument of ATen
    std::vector<Condition> required;
    std::vector<std::pair<int, int64_t>> ranks;  ///< tensor parameters that must have so many dims
    std::vector<int> results;                    ///< the parameter of each result; -1: not wanted
    std::vector<Gradient> gradients;             ///< not empty: the function is the gradient of this call
    std::vector<int> incoming;                   ///< then the parameter that has the gradient of each result; -1: none
    bool writes_results = false;                 ///< ATen writes the results; else they are copied
    int first_input = -1;
    int seed = -1;           ///< a generator that ATen does not take: its state goes into PyTorch's own
    std::vector<Plan> more;  ///< calls after this one
    /// The parameter that has the shape and dtype of the first result.
    [[nodiscard]] int first_result() const { return results.empty() ? incoming[0] : results[0]; }
};

[[nodiscard]] bool is_list_of_tensors(const c10::Argument& argument);

/// The plans for a function in the order in which they are tried, and why other rows of the table give none.
struct Plans {
    std::vector<Plan> plans;
    std::string drift;
};

[[nodiscard]] Plans make_plans(const Row& row);
/// The same, made once.
[[nodiscard]] const Plans& plans_of(const Row& row);

}  // namespace diopi::torch_impl
