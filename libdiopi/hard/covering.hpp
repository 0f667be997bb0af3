/// Covering arrays: few combinations of the levels of several factors, among which each pair of levels of two factors
/// occurs, and each triple of levels of some factors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace diopi {

/// One level for each factor.
using Combination = std::vector<size_t>;

/// Three factors, in ascending order.
using FactorTriple = std::array<size_t, 3>;

/// Gives combinations one after the other, each the best of some candidates: the first ones cover the most new pairs.
/// Level 0 of a factor is the plain one. Every other combination has it for all but a few factors: a fast path that is
/// wrong under some conditions is taken only where the rest is plain. When every pair has occurred, the triples of the
/// deep factors follow, and then the late ones.
/// The same levels and seed give the same combinations on every machine.
class CoveringArray {
 public:
    /// The number of levels of each factor, at least 1; the positions of the deep factors, in ascending order; the late
    /// triples.
    CoveringArray(std::vector<size_t> levels, uint64_t seed, const std::vector<size_t>& deep = {},
                  const std::vector<FactorTriple>& late = {});

    /// The next combination; none when everything has occurred.
    [[nodiscard]] std::optional<Combination> next();

 private:
    /// The triples of the levels of three factors: the position of the first one in Triples::open.
    struct Block {
        FactorTriple factors;
        size_t first;
    };
    struct Triples {
        std::vector<size_t> factors;  ///< of all blocks, in ascending order
        std::vector<Block> blocks;
        std::vector<uint8_t> open;  ///< 1 for a triple that has not occurred
        int64_t count_of_open = 0;

        /// The first open one from `at` on, or from the start; there must be one.
        [[nodiscard]] size_t next_open(size_t at) const;
    };

    [[nodiscard]] uint64_t draw();
    /// Sets gains_ for the levels of factor `f`: new pairs, or new triples, with the levels that are set.
    void find_gains(const Combination& chosen, const std::vector<bool>& is_set, size_t f);
    void find_gains(const Triples& triples, const Combination& chosen, const std::vector<bool>& is_set, size_t f);
    /// Chooses the level of factor `f` with the largest gain, and returns that.
    int64_t choose(Combination& chosen, size_t f);
    [[nodiscard]] Combination candidate(int64_t& gain, bool is_plain);
    void add_block(Triples& triples, const FactorTriple& factors) const;
    [[nodiscard]] size_t triple_of(const Block& block, const Combination& chosen) const;
    [[nodiscard]] Combination candidate_of(const Triples& triples, int64_t& gain, bool is_plain);
    void cover(const Combination& combination);
    /// The pairs of level `b` of factor `g` with each level of factor `f`: position in open_.
    [[nodiscard]] size_t pairs_at(size_t f, size_t g, size_t b) const {
        return blocks_[f * levels_.size() + g] + b * levels_[f];
    }

    std::vector<size_t> levels_;
    std::vector<size_t> blocks_;
    std::vector<uint8_t> open_;  ///< 1 for a pair that has not occurred; each pair has two places
    std::vector<uint16_t> gains_;
    int64_t open_pairs_ = 0;
    Triples deep_, late_;
    uint64_t seed_, drawn_ = 0, made_ = 0;
};

}  // namespace diopi
