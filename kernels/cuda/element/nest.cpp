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

std::optional<Nest> in_packs(const Nest& nest, int pack) {
    const auto inner = static_cast<size_t>(nest.rank - 1);
    if (nest.sizes[inner] % pack != 0 || nest.strides[0][inner] != 1) return std::nullopt;
    Nest packed = nest;
    packed.sizes[inner] /= pack;
    packed.numel /= pack;
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        if (nest.strides[k][inner] == 0) continue;
        if (nest.strides[k][inner] != 1) return std::nullopt;
        for (size_t d = 0; d < inner; ++d) {
            if (nest.strides[k][d] % pack != 0) return std::nullopt;
        }
        packed.strides[k][inner] = pack;
    }
    return packed;
}

}  // namespace diopi::cuda
