/// The tensors of a call, one by one.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "call/call.hpp"

namespace diopi {

/// The place of a tensor in a call.
struct Place {
    const Arg& arg;
    int64_t position = 0;  ///< in a list

    /// "input", "tensors.2"
    [[nodiscard]] std::string name() const {
        return std::string(arg.name) + (arg.is_tensor_list() ? "." + std::to_string(position) : "");
    }
    [[nodiscard]] bool is_read() const { return !arg.is_output; }
    [[nodiscard]] bool is_written() const { return arg.is_output || arg.is_inout; }
};

/// Calls visit(place, tensor) for each tensor of the call, also those of lists, in the order of the arguments. It may
/// replace the TensorPtr if the call is not const.
template <class AnyCall, class Visit>
requires std::same_as<std::remove_const_t<AnyCall>, Call>
void for_each_tensor(AnyCall& call, Visit&& visit) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (auto* tensor = std::get_if<TensorPtr>(&call.args[i])) {
            if (*tensor != nullptr) visit(Place{arg}, *tensor);
        } else if (auto* list = std::get_if<TensorList>(&call.args[i])) {
            for (size_t k = 0; k < list->size(); ++k) {
                if ((*list)[k] != nullptr) visit(Place{arg, static_cast<int64_t>(k)}, (*list)[k]);
            }
        }
    }
}

/// A number that the function gives back through the pointer at that argument, as a host tensor without dims; none
/// where the argument is another one.
[[nodiscard]] std::optional<Tensor> given_number(const Call& call, size_t arg);

}  // namespace diopi
