#include "kernels/cuda/element/nest.hpp"

#include <algorithm>
#include <cstdlib>

namespace diopi::cuda {

Halves split(const Nest& nest) {
    size_t widest = 0;
    int64_t most = 0;
    for (size_t d = 0; d < static_cast<size_t>(nest.rank); ++d) {
        int64_t span = nest.sizes[d] - 1;
        for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
            span = std::max(span, (nest.sizes[d] - 1) * std::abs(nest.strides[k][d]));
        }
        if (span <= most) continue;
        most = span;
        widest = d;
    }
    Halves halves{{nest, nest}};
    const int64_t size = nest.sizes[widest], first = size / 2;
    for (size_t half = 0; half < 2; ++half) {
        Nest& part = halves.nests[half];
        part.sizes[widest] = half == 0 ? first : size - first;
        part.numel = nest.numel / size * part.sizes[widest];
    }
    for (size_t k = 0; k < halves.places.size(); ++k) halves.places[k] = first * nest.strides[k][widest];
    return halves;
}

}  // namespace diopi::cuda
