/// The random numbers of core/normal.hpp on the device: a thread computes whole Philox blocks and needs nothing from
/// its neighbours. The formulas are core's constexpr functions.
#pragma once

#include <math.h>

#include <cstdint>

#include "core/normal.hpp"
#include "kernels/cuda/element/index.hpp"

namespace diopi::cuda {

/// The four words of a block.
struct Words {
    uint32_t at[4];
};

/// Philox 4x32-10 of the counter (low, high) under `key`: equal to diopi::philox. Source: Salmon et al., SC 2011.
DIOPI_HOST_DEVICE inline Words philox_words(uint64_t key, uint64_t low, uint64_t high) {
    auto x0 = static_cast<uint32_t>(low), x1 = static_cast<uint32_t>(low >> 32);
    auto x2 = static_cast<uint32_t>(high), x3 = static_cast<uint32_t>(high >> 32);
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{x0} * 0xD2511F53U, b = uint64_t{x2} * 0xCD9E8D57U;
        x0 = static_cast<uint32_t>(b >> 32) ^ x1 ^ k0;
        x1 = static_cast<uint32_t>(b);
        x2 = static_cast<uint32_t>(a >> 32) ^ x3 ^ k1;
        x3 = static_cast<uint32_t>(a);
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return {{x0, x1, x2, x3}};
}

/// The normal numbers of a block: four floats or two doubles.
template <class T>
constexpr int kNormalsOfBlock = 16 / sizeof(T);

DIOPI_HOST_DEVICE inline void normals_of(const Words& w, float (&numbers)[4]) {
    for (int half = 0; half < 2; ++half) {
        const float radius = sqrtf(radius_squared(w.at[2 * half]));
        const Direction<float> d = turn(w.at[2 * half + 1]);
        numbers[2 * half] = radius * d.cos;
        numbers[2 * half + 1] = radius * d.sin;
    }
}

DIOPI_HOST_DEVICE inline void normals_of(const Words& w, double (&numbers)[2]) {
    const double radius = sqrt(radius_squared(w.at[0], w.at[1]));
    const Direction<double> d = turn(w.at[2], w.at[3]);
    numbers[0] = radius * d.cos;
    numbers[1] = radius * d.sin;
}

}  // namespace diopi::cuda
