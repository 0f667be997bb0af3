/// Alignment of two sequences: which elements correspond, in order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace diopi {

/// One step: an element of both, or of one alone.
struct Aligned {
    std::optional<size_t> one, other;
    bool operator==(const Aligned&) const = default;
};

/// With the most pairs of equal keys that keep both orders. Time and memory grow with the product of what is left
/// between the common beginning and the common end; beyond 2^26 of them these are paired as they stand until the first
/// difference, and the rest is not.
[[nodiscard]] std::vector<Aligned> align(const std::vector<std::string>& one, const std::vector<std::string>& other);

}  // namespace diopi
