/// Tiles of functions of three tensors.
#pragma once

#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

/// The tile function that applies f(a, b, c).
template <class T, class F>
TileOp ternary(Dtype compute, const F& f) {
    const TileFunction run = [](void* const* out, const void* const* in, int64_t n, const void* state) {
        const F g = *static_cast<const F*>(state);
        T* o = static_cast<T*>(out[0]);
        const T* a = static_cast<const T*>(in[0]);
        const T* b = static_cast<const T*>(in[1]);
        const T* c = static_cast<const T*>(in[2]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = g(a[i], b[i], c[i]);
    };
    return {compute, run, &f};
}

}  // namespace diopi::cpu
