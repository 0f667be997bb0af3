/// A backend's kernels for images of one, two or three sides, which the functions of the standard call.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace diopi::reference {
#include "kernels/entries/sides/conv.inc"
#include "kernels/entries/sides/pool.inc"
}  // namespace diopi::reference

namespace diopi::testing {

struct ImageKernels {
    decltype(&reference::convolution) convolution;
    decltype(&reference::convolution_backward) convolution_backward;
    decltype(&reference::max_pool) max_pool;
    decltype(&reference::max_pool_with_indices) max_pool_with_indices;
    decltype(&reference::max_pool_backward) max_pool_backward;
    decltype(&reference::adaptive_avg_pool) adaptive_avg_pool;
    decltype(&reference::adaptive_avg_pool_backward) adaptive_avg_pool_backward;
};

}  // namespace diopi::testing

/// The kernels of `backend`, a namespace.
#define IMAGE_KERNELS_OF(backend)                                                                                   \
    {                                                                                                               \
        &backend::convolution, &backend::convolution_backward, &backend::max_pool, &backend::max_pool_with_indices, \
            &backend::max_pool_backward, &backend::adaptive_avg_pool, &backend::adaptive_avg_pool_backward          \
    }
