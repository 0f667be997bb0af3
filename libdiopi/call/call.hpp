/// Call: one function of the standard with its boxed arguments. All parts of diopi exchange calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call/arg_tensor.hpp"
#include "core/value.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// The origin of a call in the model that it was captured from. Every text may be empty.
struct CallOrigin {
    std::string overload;               ///< "add.Tensor": the framework's name
    std::string phase;                  ///< "forward", "backward", "optimizer"
    std::optional<int64_t> forward_id;  ///< number of the forward operator; a backward call has that of its own
    std::string layer;                  ///< "layer1.0.conv1"
    std::string source;                 ///< "resnet.py:93"
};

struct Call {
    explicit Call(const Row& r) : row(&r), args(r.num_args) {}

    const Row* row;
    /// In the C order, without ctx; args[i] belongs to row->args()[i].
    std::vector<Value> args;
    /// Null unless the call was captured.
    const CallOrigin* origin = nullptr;

    /// The argument of that C name; the row must have it.
    [[nodiscard]] Value& operator[](std::string_view arg) { return args[position(arg)]; }
    [[nodiscard]] const Value& operator[](std::string_view arg) const { return args[position(arg)]; }
    [[nodiscard]] bool has(std::string_view arg) const { return row->find(arg) >= 0; }

    /// Typed access; null or `otherwise` when the argument is absent or of another type.
    [[nodiscard]] const Tensor* tensor(std::string_view arg) const;
    [[nodiscard]] const IntList* ints(std::string_view arg) const;
    [[nodiscard]] int64_t integer(std::string_view arg, int64_t otherwise = 0) const;
    [[nodiscard]] bool flag(std::string_view arg) const;
    /// Whether an argument asks for an error where the values allow no result.
    [[nodiscard]] bool asks_for_error() const;

    /// The tensor at a place; null where there is none.
    [[nodiscard]] TensorPtr tensor_at(ArgPlace place) const;
    /// Puts a tensor there; a list becomes as long as that needs.
    void set_tensor(ArgPlace place, TensorPtr tensor);
    /// "input", "outs.2": the argument's name, with the position in a list of several.
    [[nodiscard]] std::string name_of(ArgPlace place) const;
    /// The place of that name; nullopt when the row has no such argument.
    [[nodiscard]] std::optional<ArgPlace> place_of(std::string_view name) const;

 private:
    [[nodiscard]] size_t position(std::string_view arg) const;
};

}  // namespace diopi
