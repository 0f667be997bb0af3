/// Helpers of the functions that draw random numbers: they read the words of a sequence tile by tile, and fill tensors.
#pragma once

#include <algorithm>
#include <span>

#include "core/normal.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/operands/random.hpp"

namespace diopi::cpu {

/// Calls body(first element, the numbers' words) for each tile of `count` elements, in threads.
template <class Body>
void for_each_word_tile(int64_t count, const Sequence& from, const Body& body) {
    parallel_for((count + kTile - 1) / kTile, 4 * kTile, [&](int64_t begin, int64_t end) {
        alignas(64) uint32_t words[kTile];
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t first = tile * kTile;
            const std::span<uint32_t> drawn(words, static_cast<size_t>(std::min(kTile, count - first)));
            word_block(from.seed, from.offset, first, drawn);
            body(first, drawn);
        }
    });
}

/// Stores a tile of zeros and ones in the dtype of `to`.
inline void store_flags(const View& to, int64_t first, std::span<float> flags) {
    std::byte* target = to.data + first * to.item_size();
    if (to.dtype == Dtype::float32) {
        std::ranges::copy(flags, reinterpret_cast<float*>(target));
    } else {
        converter(Dtype::float32, to.dtype)(flags.data(), target, static_cast<int64_t>(flags.size()));
    }
}

/// Element i = u_i < p, u_i = the upper 24 bits of a word / 2^24: whole numbers are compared.
void fill_bernoulli(const View& to, double p, const Sequence& from);

/// Calls draw(dense output, sequence), then advances the generator by so many words for each element.
template <class Draw>
diopiError_t fill_random(diopiContextHandle_t ctx, const View& out, diopiGeneratorHandle_t generator, Draw&& draw,
                         int64_t words = 1) {
    View dense;
    if (const diopiError_t error = require_dense(ctx, out, dense); error != diopiSuccess) return error;
    const Sequence from = Sequence::of(generator);
    draw(dense, from);
    if (dense.data != out.data) copy(dense, out);
    return from.advance(generator, words * out.numel);
}

}  // namespace diopi::cpu
