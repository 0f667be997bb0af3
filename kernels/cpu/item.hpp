/// Kernels that move elements without a look at their values: one for each size of an element.
#pragma once

#include <complex>
#include <cstdint>

#include "core/dtype.hpp"

namespace diopi::cpu {

/// Calls f.template operator()<E>() with a type of the dtype's size.
template <class F>
void with_item(Dtype dtype, F&& f) {
    switch (size_of(dtype)) {
        case 1:
            return f.template operator()<uint8_t>();
        case 2:
            return f.template operator()<uint16_t>();
        case 4:
            return f.template operator()<uint32_t>();
        case 8:
            return f.template operator()<uint64_t>();
        default:
            return f.template operator()<std::complex<double>>();
    }
}

}  // namespace diopi::cpu
