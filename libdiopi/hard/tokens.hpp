/// The tokens, and the lists of words, of hard cases of generations.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "hard/draft.hpp"

namespace diopi {

/// A number below `limit` that follows from `i` without a pattern.
inline int64_t mixed(int64_t i, int64_t limit) {
    auto x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
    return static_cast<int64_t>((x >> 33) % static_cast<uint64_t>(limit));
}

/// Adds a tensor with the numbers value(0), value(1), ...
template <class Value>
void add_numbers(Draft& draft, std::string_view arg, const Shape& shape, Dtype dtype, const Value& value) {
    const auto count = draft.made().tensors.size();
    draft.add(arg, shape, dtype, {Fill::kValue});
    if (draft.made().tensors.size() == count || draft.made().tensors.back().absent) return;
    std::vector<double>& values = draft.made().tensors.back().values;
    for (int64_t i = 0; i < numel(shape); ++i) values.push_back(static_cast<double>(value(i)));
}

/// So few tokens that sequences end in a word by chance.
inline constexpr int64_t kTokens = 3;

/// Lists of `length` tokens of words: words of 1 to 4 tokens, some without any and some that are longer than what was
/// generated. The last tokens of some words are `foreign`.
class Words {
 public:
    Words(int64_t lists, int64_t length, int64_t pattern, int64_t foreign) {
        for (int64_t list = 0; list < lists; ++list) add_list(list, length, pattern, foreign);
    }
    [[nodiscard]] int64_t at(int64_t i) const { return numbers_[static_cast<size_t>(i)]; }

 private:
    void add_list(int64_t list, int64_t length, int64_t pattern, int64_t foreign) {
        std::vector<int64_t> ends;
        int64_t end = 0;
        for (int64_t word = 0; std::ssize(ends) < length; ++word) {
            const int64_t count = pattern == 3 && word % 5 == 4 ? 0 : pattern == 6 && word == 2 ? 18 : 1 + word % 4;
            if (pattern == 1 || end + count > length) break;
            ends.push_back(end += count);
        }
        for (int64_t i = 0; i < length; ++i) {
            const bool is_last = std::ranges::find(ends, i + 1) != ends.end();
            numbers_.push_back(pattern == 5 && is_last && i % 2 == 1 ? foreign : mixed(77 * list + i, kTokens));
        }
        ends.resize(static_cast<size_t>(length), -1);
        numbers_.insert(numbers_.end(), ends.begin(), ends.end());
    }

    std::vector<int64_t> numbers_;
};

/// The length of lists of words, by the pattern.
inline int64_t words_length(const Draft& draft) {
    constexpr int64_t kLengths[] = {12, 1, 2, 20, 0, 13, 33, 64};
    return kLengths[draft.pattern()];
}

/// The length of a generation, beside boundaries.
inline int64_t generated_steps(const Draft& draft) {
    constexpr int64_t kSteps[] = {9, 0, 1, 2, 63, 64, 65, 17, 128, 33};
    return kSteps[draft.level(Factor::kNumbers)];
}

/// The dtype of tokens.
inline Dtype token_dtype(const Draft& draft) { return draft.pattern() % 2 == 0 ? Dtype::int64 : Dtype::int32; }

}  // namespace diopi
