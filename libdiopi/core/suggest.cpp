#include "core/suggest.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace diopi {

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = above[j - 1] + (lower_case(a[i - 1]) == lower_case(b[j - 1]) ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
            const bool swapped = i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
                                 lower_case(a[i - 2]) == lower_case(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates, size_t limit) {
    const size_t allowed = std::max<size_t>(1, name.size() / 3);
    std::vector<std::pair<size_t, std::string>> near;
    for (const std::string& candidate : candidates) {
        const bool contains = name.size() >= 3 && candidate.find(name) != std::string::npos;
        const size_t distance = edit_distance(name, candidate);
        if (distance <= allowed) {
            near.emplace_back(distance, candidate);
        } else if (contains) {
            near.emplace_back(allowed + 1, candidate);
        }
    }
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto& [distance, candidate] : near) {
        if (names.size() == limit) break;
        if (std::find(names.begin(), names.end(), candidate) == names.end()) names.push_back(std::move(candidate));
    }
    return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
    const std::vector<std::string> names = nearest(name, candidates);
    if (names.empty()) return "";
    std::string text = " (did you mean ";
    for (size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
        text += "'" + names[i] + "'";
    }
    return text + "?)";
}

}  // namespace diopi
