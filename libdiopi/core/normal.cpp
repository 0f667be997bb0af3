#include "core/normal.hpp"

#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"

namespace diopi {

namespace {

/// Blocks of one tile; its words and numbers stay in the first-level cache.
constexpr int64_t kTileBlocks = 256;

/// Words of consecutive blocks, one array per position in the block, so that loops over blocks vectorise.
struct Words {
    alignas(64) uint32_t w0[kTileBlocks], w1[kTileBlocks], w2[kTileBlocks], w3[kTileBlocks];
};

/// Philox 4x32-10 of counters (first + i, high), i < n. Bit-equal to Random123's.
void philox_tile(uint64_t key, uint64_t first, uint64_t high, int64_t n, Words& words) {
    uint32_t* __restrict out0 = words.w0;
    uint32_t* __restrict out1 = words.w1;
    uint32_t* __restrict out2 = words.w2;
    uint32_t* __restrict out3 = words.w3;
    for (int64_t i = 0; i < n; ++i) {
        const uint64_t counter = first + static_cast<uint64_t>(i);
        auto x0 = static_cast<uint32_t>(counter);
        auto x1 = static_cast<uint32_t>(counter >> 32);
        auto x2 = static_cast<uint32_t>(high);
        auto x3 = static_cast<uint32_t>(high >> 32);
        auto k0 = static_cast<uint32_t>(key);
        auto k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < 10; ++round) {
            const uint64_t a = uint64_t{x0} * 0xD2511F53u;
            const uint64_t b = uint64_t{x2} * 0xCD9E8D57u;
            x0 = static_cast<uint32_t>(b >> 32) ^ x1 ^ k0;
            x1 = static_cast<uint32_t>(b);
            x2 = static_cast<uint32_t>(a >> 32) ^ x3 ^ k1;
            x3 = static_cast<uint32_t>(a);
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        out0[i] = x0;
        out1[i] = x1;
        out2[i] = x2;
        out3[i] = x3;
    }
}

/// Square roots in place; -fno-math-errno lets the compiler vectorise them.
template <class T>
void sqrt_tile(T* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] = std::sqrt(x[i]);
}

/// The numbers per block, and the function that turns the words of n blocks into n * kPerBlock numbers.
struct ToWords {
    using Number = uint32_t;
    static constexpr int64_t kPerBlock = 4;
    static void run(const Words& w, int64_t n, uint32_t* __restrict out) {
        for (int64_t i = 0; i < n; ++i) {
            out[4 * i] = w.w0[i];
            out[4 * i + 1] = w.w1[i];
            out[4 * i + 2] = w.w2[i];
            out[4 * i + 3] = w.w3[i];
        }
    }
};

struct ToUniformFloat {
    using Number = float;
    static constexpr int64_t kPerBlock = 4;
    static void run(const Words& w, int64_t n, float* __restrict out) {
        for (int64_t i = 0; i < n; ++i) {
            out[4 * i] = unit_interval(w.w0[i]);
            out[4 * i + 1] = unit_interval(w.w1[i]);
            out[4 * i + 2] = unit_interval(w.w2[i]);
            out[4 * i + 3] = unit_interval(w.w3[i]);
        }
    }
};

struct ToUniformDouble {
    using Number = double;
    static constexpr int64_t kPerBlock = 2;
    static void run(const Words& w, int64_t n, double* __restrict out) {
        for (int64_t i = 0; i < n; ++i) {
            out[2 * i] = unit_interval(w.w0[i], w.w1[i]);
            out[2 * i + 1] = unit_interval(w.w2[i], w.w3[i]);
        }
    }
};

struct ToNormalFloat {
    using Number = float;
    static constexpr int64_t kPerBlock = 4;
    static void run(const Words& w, int64_t n, float* __restrict out) {
        alignas(64) float r0[kTileBlocks], r1[kTileBlocks];
        for (int64_t i = 0; i < n; ++i) {
            r0[i] = radius_squared(w.w0[i]);
            r1[i] = radius_squared(w.w2[i]);
        }
        sqrt_tile(r0, n);
        sqrt_tile(r1, n);
        for (int64_t i = 0; i < n; ++i) {
            const Direction<float> d0 = turn(w.w1[i]);
            const Direction<float> d1 = turn(w.w3[i]);
            out[4 * i] = r0[i] * d0.cos;
            out[4 * i + 1] = r0[i] * d0.sin;
            out[4 * i + 2] = r1[i] * d1.cos;
            out[4 * i + 3] = r1[i] * d1.sin;
        }
    }
};

struct ToNormalDouble {
    using Number = double;
    static constexpr int64_t kPerBlock = 2;
    static void run(const Words& w, int64_t n, double* __restrict out) {
        alignas(64) double r[kTileBlocks];
        for (int64_t i = 0; i < n; ++i) r[i] = radius_squared(w.w0[i], w.w1[i]);
        sqrt_tile(r, n);
        for (int64_t i = 0; i < n; ++i) {
            const Direction<double> d = turn(w.w2[i], w.w3[i]);
            out[2 * i] = r[i] * d.cos;
            out[2 * i + 1] = r[i] * d.sin;
        }
    }
};

/// Numbers first .. first + out.size() of the sequence that Transform makes. Tiles that `out` holds only in part go
/// through a buffer.
template <class Transform>
void fill(uint64_t key, uint64_t counter_high, int64_t first, std::span<typename Transform::Number> out) {
    constexpr int64_t kPerBlock = Transform::kPerBlock;
    const auto count = static_cast<int64_t>(out.size());
    Words words;
    int64_t done = 0;
    while (done < count) {
        const int64_t block = (first + done) / kPerBlock;
        const int64_t skip = (first + done) % kPerBlock;
        const int64_t blocks = std::min(kTileBlocks, (skip + count - done + kPerBlock - 1) / kPerBlock);
        const int64_t numbers = std::min(blocks * kPerBlock - skip, count - done);
        philox_tile(key, static_cast<uint64_t>(block), counter_high, blocks, words);
        if (numbers == blocks * kPerBlock) {
            Transform::run(words, blocks, out.data() + done);
        } else {
            alignas(64) typename Transform::Number buffer[kTileBlocks * kPerBlock];
            Transform::run(words, blocks, buffer);
            std::copy_n(buffer + skip, numbers, out.data() + done);
        }
        done += numbers;
    }
}

}  // namespace

void word_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<uint32_t> out) {
    best<fill<ToWords>>()(key, counter_high, first, out);
}
void uniform_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<float> out) {
    best<fill<ToUniformFloat>>()(key, counter_high, first, out);
}
void uniform_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<double> out) {
    best<fill<ToUniformDouble>>()(key, counter_high, first, out);
}
void normal_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<float> out) {
    best<fill<ToNormalFloat>>()(key, counter_high, first, out);
}
void normal_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<double> out) {
    best<fill<ToNormalDouble>>()(key, counter_high, first, out);
}

}  // namespace diopi
