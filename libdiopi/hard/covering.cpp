#include "hard/covering.hpp"

#include <numeric>
#include <utility>

#include "core/philox.hpp"

namespace diopi {

namespace {

constexpr int kCandidates = 8;
/// Factors of a plain combination that have any level.
constexpr size_t kFreeFactors = 4;

}  // namespace

CoveringArray::CoveringArray(std::vector<size_t> levels, uint64_t seed) : levels_(std::move(levels)), seed_(seed) {
    blocks_.resize(levels_.size() * levels_.size());
    size_t pairs = 0;
    for (size_t f = 0; f < levels_.size(); ++f) {
        for (size_t g = f + 1; g < levels_.size(); ++g) {
            blocks_[f * levels_.size() + g] = pairs;
            pairs += levels_[f] * levels_[g];
        }
    }
    open_.assign(pairs, true);
    open_pairs_ = static_cast<int64_t>(pairs);
}

uint64_t CoveringArray::draw() {
    const auto words = philox(seed_, drawn_++, 0);
    return (static_cast<uint64_t>(words[0]) << 32) | words[1];
}

bool CoveringArray::is_open(size_t f, size_t a, size_t g, size_t b) const {
    return f < g ? open_[block(f, g) + a * levels_[g] + b] : open_[block(g, f) + b * levels_[f] + a];
}

/// New pairs of level `a` of factor `f` with the levels that are set.
int64_t CoveringArray::gain_of(const Combination& chosen, const std::vector<bool>& is_set, size_t f, size_t a) const {
    int64_t gain = 0;
    for (size_t g = 0; g < levels_.size(); ++g) {
        if (g != f && is_set[g] && is_open(f, a, g, chosen[g])) ++gain;
    }
    return gain;
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
        int64_t best = -1;
        // From a random level on, so that equal ones alternate.
        const size_t first = draw() % levels_[f];
        for (size_t i = 0; i < levels_[f]; ++i) {
            const size_t a = (first + i) % levels_[f];
            const int64_t own = gain_of(chosen, is_set, f, a);
            if (own <= best) continue;
            best = own;
            chosen[f] = a;
        }
        gain += best;
        is_set[f] = true;
    }
    return chosen;
}

void CoveringArray::cover(const Combination& combination) {
    for (size_t f = 0; f < levels_.size(); ++f) {
        for (size_t g = f + 1; g < levels_.size(); ++g) {
            const size_t at = block(f, g) + combination[f] * levels_[g] + combination[g];
            if (open_[at]) --open_pairs_;
            open_[at] = false;
        }
    }
}

std::optional<Combination> CoveringArray::next() {
    if (open_pairs_ == 0) return {};
    const bool is_plain = made_++ % 2 == 1;
    Combination best;
    int64_t most = -1;
    // All candidates may miss the last open pairs: some of them come up sooner or later.
    for (int tried = 0; tried < kCandidates || (most == 0 && !is_plain); ++tried) {
        int64_t gain = 0;
        Combination made = candidate(gain, is_plain);
        if (gain <= most) continue;
        most = gain;
        best = std::move(made);
    }
    cover(best);
    return best;
}

}  // namespace diopi
