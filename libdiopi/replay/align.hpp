/// Alignment of two sequences: the pairs of corresponding elements, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace diopi {

/// One step: an element of both sequences, or of only one.
struct Aligned {
    std::optional<size_t> one, other;
    bool operator==(const Aligned&) const = default;
};

/// The similarity of two elements: from 0 to kCertain.
using Similarity = std::function<uint32_t(size_t one, size_t other)>;
constexpr uint32_t kCertain = 1000;

/// The pairs with the largest sum of similarity that keep both orders; a pair needs a similarity above 0. Time and
/// memory grow with the product of the lengths between the certain pairs at the beginning and at the end; if it exceeds
/// 2^26, only these are paired.
[[nodiscard]] std::vector<Aligned> align(size_t ones, size_t others, const Similarity& similarity);

}  // namespace diopi
