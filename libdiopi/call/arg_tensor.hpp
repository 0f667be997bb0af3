/// A tensor at the position of an argument.
#pragma once

#include <cstddef>

#include "core/tensor.hpp"

namespace diopi {

/// An argument of a call, or an element of it where it is a list of tensors.
struct ArgPlace {
    size_t arg = 0;
    size_t position = 0;  ///< in the list

    ArgPlace(size_t argument, size_t in_list = 0) : arg(argument), position(in_list) {}
    bool operator==(const ArgPlace&) const = default;
};

struct ArgTensor {
    size_t arg = 0;
    TensorPtr tensor;
    size_t position = 0;  ///< in a list of tensors

    [[nodiscard]] ArgPlace place() const { return {arg, position}; }
};

}  // namespace diopi
