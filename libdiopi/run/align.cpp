#include "run/align.hpp"

#include <algorithm>
#include <cstdint>

namespace diopi {

namespace {

constexpr size_t kMostCells = size_t{1} << 26;

/// Pairs of [first, end) in both by the longest common subsequence.
void align_middle(const std::vector<std::string>& one, const std::vector<std::string>& other, size_t first,
                  size_t one_end, size_t other_end, std::vector<Aligned>& steps) {
    const size_t rows = one_end - first, columns = other_end - first;
    const bool fits = rows == 0 || columns <= kMostCells / rows;
    // lengths[i][j]: of the longest common subsequence of what follows.
    std::vector<uint32_t> lengths(fits ? (rows + 1) * (columns + 1) : 0, 0);
    const auto length = [&](size_t i, size_t j) -> uint32_t& { return lengths[i * (columns + 1) + j]; };
    for (size_t i = rows; fits && i-- > 0;) {
        for (size_t j = columns; j-- > 0;) {
            const bool same = one[first + i] == other[first + j];
            length(i, j) = same ? length(i + 1, j + 1) + 1 : std::max(length(i + 1, j), length(i, j + 1));
        }
    }
    size_t i = 0, j = 0;
    while (fits && i < rows && j < columns) {
        if (one[first + i] == other[first + j])
            steps.push_back({first + i++, first + j++});
        else if (length(i + 1, j) >= length(i, j + 1))
            steps.push_back({first + i++, std::nullopt});
        else
            steps.push_back({std::nullopt, first + j++});
    }
    while (i < rows) steps.push_back({first + i++, std::nullopt});
    while (j < columns) steps.push_back({std::nullopt, first + j++});
}

}  // namespace

std::vector<Aligned> align(const std::vector<std::string>& one, const std::vector<std::string>& other) {
    std::vector<Aligned> steps;
    size_t first = 0, one_end = one.size(), other_end = other.size();
    while (first < one_end && first < other_end && one[first] == other[first]) {
        steps.push_back({first, first});
        ++first;
    }
    while (one_end > first && other_end > first && one[one_end - 1] == other[other_end - 1]) {
        --one_end;
        --other_end;
    }
    align_middle(one, other, first, one_end, other_end, steps);
    for (size_t i = 0; one_end + i < one.size(); ++i) steps.push_back({one_end + i, other_end + i});
    return steps;
}

}  // namespace diopi
