/// Words that end a generation, or that it must not produce, as dense numbers.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/operands/attention_words.hpp"

namespace diopi::cpu {

/// A list of words for each sequence, or one for all: a row of tokens, and one of the words' running ends, negative
/// behind the last word.
struct WordLists {
    const int64_t* numbers = nullptr;
    int64_t length = 0;
    bool shared = false;

    /// Calls visit(its tokens, their number) for each word of a sequence that has tokens.
    template <class Visit>
    void for_each(int64_t sequence, Visit&& visit) const {
        const int64_t* tokens = numbers + (shared ? 0 : 2 * length * sequence);
        int64_t begin = 0;
        for (int64_t i = 0; i < length; ++i) {
            const int64_t end = tokens[length + i];
            if (end < 0) return;
            if (end > begin) visit(tokens + begin, end - begin);
            begin = end;
        }
    }
};

/// The lists; refuses ends that fall, or lie behind the tokens.
[[nodiscard]] inline diopiError_t read_words(Staging& staging, std::string_view op, std::string_view argument,
                                             const View& lists, bool shared, int64_t length, WordLists& words) {
    words = {staging.in<int64_t>(lists), length, shared};
    if (staging.error() != diopiSuccess) return staging.error();
    for (int64_t list = 0; length > 0 && list < lists.numel / (2 * length); ++list) {
        const int64_t* ends = words.numbers + (2 * list + 1) * length;
        int64_t last = 0;
        for (int64_t i = 0; i < length && ends[i] >= 0; last = ends[i++]) {
            if (ends[i] >= last && ends[i] <= length) continue;
            return refuse(op, std::string(argument) + " has a word that ends at " + std::to_string(ends[i]) +
                                  ", wanted ends that do not fall, up to " + std::to_string(length));
        }
    }
    return diopiSuccess;
}

/// The columns of a table of tokens, one for each sequence, from column `first` on.
struct Columns {
    const int64_t* tokens = nullptr;
    int64_t width = 0, first = 0;

    [[nodiscard]] int64_t at(int64_t row, int64_t sequence) const { return tokens[row * width + first + sequence]; }
    /// Whether the rows above `end` end in these tokens.
    [[nodiscard]] bool end_in(int64_t sequence, int64_t end, const int64_t* wanted, int64_t count) const {
        if (count > end) return false;
        for (int64_t i = 0; i < count; ++i) {
            if (at(end - count + i, sequence) != wanted[i]) return false;
        }
        return true;
    }
};

}  // namespace diopi::cpu
