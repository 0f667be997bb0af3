#include "replay/align.hpp"

#include <algorithm>

namespace diopi {

namespace {

constexpr size_t kMostCells = size_t{1} << 26;

/// Pairs elements of [first, end) in both with the largest sum of similarity.
void align_middle(const Similarity& similarity, size_t first, size_t one_end, size_t other_end,
                  std::vector<Aligned>& steps) {
    const size_t rows = one_end - first, columns = other_end - first;
    const bool fits = rows == 0 || columns <= kMostCells / rows;
    // sums[i][j] is the largest sum for the elements from i and j on.
    std::vector<uint32_t> sums(fits ? (rows + 1) * (columns + 1) : 0, 0);
    const auto sum = [&](size_t i, size_t j) -> uint32_t& { return sums[i * (columns + 1) + j]; };
    for (size_t i = rows; fits && i-- > 0;) {
        for (size_t j = columns; j-- > 0;) {
            const uint32_t own = similarity(first + i, first + j);
            const uint32_t paired = own > 0 ? sum(i + 1, j + 1) + own : 0;
            sum(i, j) = std::max({paired, sum(i + 1, j), sum(i, j + 1)});
        }
    }
    size_t i = 0, j = 0;
    while (fits && i < rows && j < columns) {
        const uint32_t own = similarity(first + i, first + j);
        if (own > 0 && sum(i, j) == sum(i + 1, j + 1) + own)
            steps.push_back({first + i++, first + j++});
        else if (sum(i, j) == sum(i + 1, j))
            steps.push_back({first + i++, std::nullopt});
        else
            steps.push_back({std::nullopt, first + j++});
    }
    while (i < rows) steps.push_back({first + i++, std::nullopt});
    while (j < columns) steps.push_back({std::nullopt, first + j++});
}

}  // namespace

std::vector<Aligned> align(size_t ones, size_t others, const Similarity& similarity) {
    std::vector<Aligned> steps;
    size_t first = 0, one_end = ones, other_end = others;
    while (first < one_end && first < other_end && similarity(first, first) == kCertain) {
        steps.push_back({first, first});
        ++first;
    }
    while (one_end > first && other_end > first && similarity(one_end - 1, other_end - 1) == kCertain) {
        --one_end;
        --other_end;
    }
    align_middle(similarity, first, one_end, other_end, steps);
    for (size_t i = 0; one_end + i < ones; ++i) steps.push_back({one_end + i, other_end + i});
    return steps;
}

}  // namespace diopi
