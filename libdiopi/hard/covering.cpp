#include "hard/covering.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/philox.hpp"

namespace diopi {

namespace {

constexpr int kCandidates = 8;
/// Factors of a plain combination that have any level.
constexpr size_t kFreeFactors = 4;

}  // namespace

CoveringArray::CoveringArray(std::vector<size_t> levels, uint64_t seed, const std::vector<size_t>& deep,
                             const std::vector<FactorTriple>& late)
    : levels_(std::move(levels)), seed_(seed) {
    blocks_.resize(levels_.size() * levels_.size());
    size_t pairs = 0;
    for (size_t f = 0; f < levels_.size(); ++f) {
        for (size_t g = 0; g < levels_.size(); ++g) {
            if (g == f) continue;
            blocks_[f * levels_.size() + g] = pairs;
            pairs += levels_[f] * levels_[g];
        }
    }
    open_.assign(pairs, 1);
    open_pairs_ = static_cast<int64_t>(pairs / 2);
    for (size_t i = 0; i < deep.size(); ++i) {
        for (size_t j = i + 1; j < deep.size(); ++j) {
            for (size_t k = j + 1; k < deep.size(); ++k) add_block(deep_, {deep[i], deep[j], deep[k]});
        }
    }
    for (const FactorTriple& factors : late) add_block(late_, factors);
}

void CoveringArray::add_block(Triples& triples, const FactorTriple& factors) const {
    triples.blocks.push_back({factors, triples.open.size()});
    size_t count = 1;
    for (const size_t f : factors) {
        count *= levels_[f];
        const auto at = std::ranges::lower_bound(triples.factors, f);
        if (at == triples.factors.end() || *at != f) triples.factors.insert(at, f);
    }
    triples.open.resize(triples.open.size() + count, 1);
    triples.count_of_open += static_cast<int64_t>(count);
}

uint64_t CoveringArray::draw() {
    const auto words = philox(seed_, drawn_++, 0);
    return (static_cast<uint64_t>(words[0]) << 32) | words[1];
}

size_t CoveringArray::Triples::next_open(size_t at) const {
    const auto* found = static_cast<const uint8_t*>(std::memchr(&open[at], 1, open.size() - at));
    if (found == nullptr) found = static_cast<const uint8_t*>(std::memchr(open.data(), 1, at));
    return static_cast<size_t>(found - open.data());
}

void CoveringArray::find_gains(const Combination& chosen, const std::vector<bool>& is_set, size_t f) {
    gains_.assign(levels_[f], 0);
    for (size_t g = 0; g < levels_.size(); ++g) {
        if (g == f || !is_set[g]) continue;
        const uint8_t* open = &open_[pairs_at(f, g, chosen[g])];
        for (size_t a = 0; a < gains_.size(); ++a) gains_[a] = static_cast<uint16_t>(gains_[a] + open[a]);
    }
}

void CoveringArray::find_gains(const Triples& triples, const Combination& chosen, const std::vector<bool>& is_set,
                               size_t f) {
    gains_.assign(levels_[f], 0);
    for (const Block& block : triples.blocks) {
        const auto& factors = block.factors;
        const auto own = std::ranges::find(factors, f);
        if (own == factors.end()) continue;
        if (!std::ranges::all_of(factors, [&](size_t g) { return g == f || is_set[g]; })) continue;
        size_t step = 1;  // from a level to the next one
        for (auto later = std::next(own); later != factors.end(); ++later) step *= levels_[*later];
        const uint8_t* open = &triples.open[triple_of(block, chosen) - chosen[f] * step];
        for (size_t a = 0; a < gains_.size(); ++a) gains_[a] = static_cast<uint16_t>(gains_[a] + open[a * step]);
    }
}

int64_t CoveringArray::choose(Combination& chosen, size_t f) {
    int64_t best = -1;
    // From a random level on, so that equal ones alternate.
    const size_t first = draw() % levels_[f];
    for (size_t i = 0; i < levels_[f]; ++i) {
        const size_t a = (first + i) % levels_[f];
        if (gains_[a] <= best) continue;
        best = gains_[a];
        chosen[f] = a;
    }
    return best;
}

Combination CoveringArray::candidate(int64_t& gain, bool is_plain) {
    Combination chosen(levels_.size(), 0);
    std::vector<size_t> order(levels_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw() % i]);
    std::vector<bool> is_set(levels_.size(), false);
    for (size_t i = kFreeFactors; is_plain && i < order.size(); ++i) is_set[order[i]] = true;
    gain = 0;
    for (const size_t f : order) {
        if (is_set[f]) continue;
        find_gains(chosen, is_set, f);
        gain += choose(chosen, f);
        is_set[f] = true;
    }
    return chosen;
}

size_t CoveringArray::triple_of(const Block& block, const Combination& chosen) const {
    const auto& [f, g, h] = block.factors;
    return block.first + (chosen[f] * levels_[g] + chosen[g]) * levels_[h] + chosen[h];
}

/// Begins with an open triple; the other factors of triples follow, then the rest is plain or any.
Combination CoveringArray::candidate_of(const Triples& triples, int64_t& gain, bool is_plain) {
    Combination chosen(levels_.size(), 0);
    std::vector<bool> is_set(levels_.size(), false);
    const size_t at = triples.next_open(draw() % triples.open.size());
    const auto after = std::ranges::upper_bound(triples.blocks, at, {}, &Block::first);
    const Block& block = *std::prev(after);
    size_t rest = at - block.first;
    for (size_t i = block.factors.size(); i-- > 0;) {
        const size_t f = block.factors[i];
        chosen[f] = rest % levels_[f];
        rest /= levels_[f];
        is_set[f] = true;
    }
    gain = 1;
    for (const size_t f : triples.factors) {
        if (is_set[f]) continue;
        find_gains(triples, chosen, is_set, f);
        gain += choose(chosen, f);
        is_set[f] = true;
    }
    for (size_t f = 0; f < levels_.size(); ++f) {
        if (!is_set[f] && !is_plain) chosen[f] = draw() % levels_[f];
    }
    return chosen;
}

void CoveringArray::cover(const Combination& combination) {
    for (size_t f = 0; f < levels_.size(); ++f) {
        for (size_t g = f + 1; g < levels_.size(); ++g) {
            uint8_t& open = open_[pairs_at(f, g, combination[g]) + combination[f]];
            open_pairs_ -= open;
            open = 0;
            open_[pairs_at(g, f, combination[f]) + combination[g]] = 0;
        }
    }
    for (Triples* triples : {&deep_, &late_}) {
        for (const Block& block : triples->blocks) {
            const size_t at = triple_of(block, combination);
            triples->count_of_open -= triples->open[at];
            triples->open[at] = 0;
        }
    }
}

std::optional<Combination> CoveringArray::next() {
    if (open_pairs_ == 0 && deep_.count_of_open == 0 && late_.count_of_open == 0) return {};
    const Triples& triples = deep_.count_of_open > 0 ? deep_ : late_;
    const bool is_plain = made_++ % 2 == 1;
    Combination best;
    int64_t most = -1;
    // All candidates may miss the last open pairs: some of them come up sooner or later.
    for (int tried = 0; tried < kCandidates || (most == 0 && !is_plain); ++tried) {
        int64_t gain = 0;
        Combination made = open_pairs_ > 0 ? candidate(gain, is_plain) : candidate_of(triples, gain, is_plain);
        if (gain <= most) continue;
        most = gain;
        best = std::move(made);
    }
    cover(best);
    return best;
}

}  // namespace diopi
