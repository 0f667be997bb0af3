#include "replay/call_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/align.hpp"

namespace diopi {

namespace {

/// The similarity of equal properties; the sum is kCertain.
constexpr uint32_t kSameOperator = 100, kSameOverload = 100, kSameLayer = 400, kSameShapes = 300, kSameDtypes = 100;
static_assert(kSameOperator + kSameOverload + kSameLayer + kSameShapes + kSameDtypes == kCertain);
/// The similarity for layers: one name is the end of the other; the last two parts are equal, or one; one is unknown.
constexpr uint32_t kLayerInside = 300, kLayerEnds = 200, kLayerPart = 100, kLayerUnknown = 100;

/// Numbers for texts: equal texts have one number, the empty text has 0.
class Numbers {
 public:
    size_t operator()(const std::string& text) {
        if (text.empty()) return 0;
        const auto [at, is_new] = numbers_.try_emplace(text, texts_.size());
        if (is_new) texts_.push_back(text);
        return at->second;
    }
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
    std::unordered_map<std::string, size_t> numbers_;
    std::vector<std::string> texts_ = {""};
};

/// The properties of a call, as numbers of texts.
struct CallFacts {
    size_t overload = 0, function = 0, phase = 0, layer = 0, shapes = 0, dtypes = 0;
};

/// Number of equal parts at the end: 2 for "a.b.c" and "x.b.c".
int equal_parts(std::string_view one, std::string_view other) {
    int parts = 0;
    while (!one.empty() && !other.empty()) {
        const size_t a = one.rfind('.'), b = other.rfind('.');
        if (one.substr(a + 1) != other.substr(b + 1)) break;
        ++parts;
        one = one.substr(0, a == std::string_view::npos ? 0 : a);
        other = other.substr(0, b == std::string_view::npos ? 0 : b);
    }
    return parts;
}

uint32_t layer_evidence(const std::string& one, const std::string& other) {
    if (one == other) return kSameLayer;
    if (one.empty() || other.empty()) return kLayerUnknown;
    if (one.ends_with("." + other) || other.ends_with("." + one)) return kLayerInside;
    const int parts = equal_parts(one, other);
    return parts >= 2 ? kLayerEnds : parts == 1 ? kLayerPart : 0;
}

/// The calls of two captures, ready for many comparisons.
class Matcher {
 public:
    Matcher(const Capture& one, const Capture& other)
        : ones_(facts_of(one)), others_(facts_of(other)), layers_(numbers_.texts().size()) {}

    uint32_t similarity(size_t i, size_t j) {
        const CallFacts &one = ones_[i], &other = others_[j];
        const bool same_overload = one.overload == other.overload;
        if (!same_overload && (one.function == 0 || one.function != other.function)) return 0;
        if (one.phase != other.phase && one.phase != 0 && other.phase != 0) return 0;
        const bool same_shapes = one.shapes == other.shapes;
        const uint32_t layer = of_layers(one.layer, other.layer);
        if (!same_shapes && layer < kLayerInside) return 0;
        return kSameOperator + layer + (same_overload ? kSameOverload : 0) + (same_shapes ? kSameShapes : 0) +
               (one.dtypes == other.dtypes ? kSameDtypes : 0);
    }

    /// Whether only their positions distinguish the calls.
    [[nodiscard]] bool is_the_same(size_t i, size_t j) const {
        const CallFacts &one = ones_[i], &other = others_[j];
        return one.layer != 0 && one.layer == other.layer && one.overload == other.overload &&
               one.phase == other.phase && one.shapes == other.shapes;
    }

 private:
    std::vector<CallFacts> facts_of(const Capture& capture) {
        std::vector<CallFacts> all;
        for (const CapturedCall& call : capture.calls) {
            std::string shapes, dtypes;
            for (const TensorUse& use : uses_of(capture, call)) {
                const Tensor& tensor = *capture.tensors[use.tensor].tensor;
                shapes += to_string(tensor.shape);
                dtypes += fmt::format("{} ", name(tensor.dtype));
            }
            all.push_back({numbers_(call.overload), numbers_(call.call ? std::string(call.call->row->function) : ""),
                           numbers_(call.phase), numbers_(call.layer), numbers_(shapes), numbers_(dtypes)});
        }
        return all;
    }

    uint32_t of_layers(size_t one, size_t other) {
        if (one == other) return kSameLayer;
        const auto [at, is_new] = layers_[one].try_emplace(other, 0);
        if (is_new) at->second = layer_evidence(numbers_.texts()[one], numbers_.texts()[other]);
        return at->second;
    }

    Numbers numbers_;
    std::vector<CallFacts> ones_, others_;
    std::vector<std::unordered_map<size_t, uint32_t>> layers_;  ///< computed layer similarities
};

/// Pairs the remaining equal calls of both: the first of one with the first of the other.
void join_left_over(std::vector<CallPair>& pairs, const Matcher& matcher) {
    std::vector<size_t> left_over;
    for (size_t p = 0; p < pairs.size(); ++p) {
        if (!pairs[p].one) left_over.push_back(p);
    }
    for (CallPair& pair : pairs) {
        if (!pair.one || pair.other) continue;
        const auto same = std::ranges::find_if(
            left_over, [&](size_t p) { return pairs[p].other && matcher.is_the_same(*pair.one, *pairs[p].other); });
        if (same == left_over.end()) continue;
        pair.other = pairs[*same].other;
        pair.out_of_order = true;
        pairs[*same].other.reset();
    }
    std::erase_if(pairs, [](const CallPair& pair) { return !pair.one && !pair.other; });
}

}  // namespace

std::vector<CallPair> match_calls(const Capture& one, const Capture& other) {
    Matcher matcher(one, other);
    std::vector<CallPair> pairs;
    for (const Aligned& step :
         align(one.calls.size(), other.calls.size(), [&](size_t i, size_t j) { return matcher.similarity(i, j); })) {
        pairs.push_back({step.one, step.other});
    }
    join_left_over(pairs, matcher);
    return pairs;
}

}  // namespace diopi
