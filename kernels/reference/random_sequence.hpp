/// Random numbers of a generator, whole sequences at once.
#pragma once

#include <span>
#include <vector>

#include "core/normal.hpp"
#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// The place in a generator's sequence where a call begins.
struct Sequence {
    diopiGeneratorHandle_t generator;
    uint64_t seed = 0, offset = 0;

    explicit Sequence(diopiGeneratorHandle_t handle) : generator(handle) {
        if (generator == nullptr) refuse("generator is null, wanted one");
        diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    }
    /// Advances the generator by so many words, rounded up to whole blocks.
    void advance(int64_t words) const {
        diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(words) + 3) / 4 * 4);
    }
    /// The first n words, or uniform or normal numbers.
    [[nodiscard]] std::vector<uint32_t> words(int64_t n) const {
        std::vector<uint32_t> drawn(static_cast<size_t>(n));
        word_block(seed, offset, 0, std::span(drawn));
        return drawn;
    }
    template <class Number>
    [[nodiscard]] std::vector<double> uniform(int64_t n) const {
        std::vector<Number> drawn(static_cast<size_t>(n));
        uniform_block(seed, offset, 0, std::span(drawn));
        return {drawn.begin(), drawn.end()};
    }
    template <class Number>
    [[nodiscard]] std::vector<double> normal(int64_t n) const {
        std::vector<Number> drawn(static_cast<size_t>(n));
        normal_block(seed, offset, 0, std::span(drawn));
        return {drawn.begin(), drawn.end()};
    }
};

}  // namespace diopi::reference
