/// A tensor at the position of an argument.
#pragma once

#include <cstddef>

#include "core/tensor.hpp"

namespace diopi {

struct ArgTensor {
    size_t arg = 0;
    TensorPtr tensor;
};

}  // namespace diopi
