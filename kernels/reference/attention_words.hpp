/// Words that end a generation, or that it must not produce: sequences of tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

using Word = std::span<const int64_t>;

/// The words of a list of two rows of `length` numbers: the tokens of all words, and the words' running ends, negative
/// behind the last one. A word without tokens is none.
inline std::vector<Word> words_of(std::string_view argument, const int64_t* list, int64_t length) {
    std::vector<Word> words;
    const int64_t* ends = list + length;
    int64_t begin = 0;
    for (int64_t i = 0; i < length && ends[i] >= 0; ++i) {
        if (ends[i] < begin || ends[i] > length) {
            refuse(std::string(argument) + " has a word that begins at " + std::to_string(begin) + " and ends at " +
                   std::to_string(ends[i]) + ", wanted ends that do not fall, up to " + std::to_string(length));
        }
        if (ends[i] > begin) words.emplace_back(list + begin, static_cast<size_t>(ends[i] - begin));
        begin = ends[i];
    }
    return words;
}

/// Whether the tokens of a column of ids above row `end` end in these.
inline bool ends_in(const Operand<int64_t>& ids, int64_t column, int64_t end, Word tokens) {
    const auto count = static_cast<int64_t>(tokens.size());
    if (count > end) return false;
    for (int64_t i = 0; i < count; ++i) {
        if (ids[(end - count + i) * ids.size(1) + column] != tokens[static_cast<size_t>(i)]) return false;
    }
    return true;
}

/// The ids of tokens, of an integer dtype.
inline Operand<int64_t> integers_of(diopiConstTensorHandle_t tensor, std::string_view argument) {
    const Dtype dtype = view_of(tensor).dtype;
    if (!is_integer(dtype)) refuse_dtype(argument, dtype, "an integer dtype");
    return {tensor, argument};
}

/// (steps, sequences), of which there are at least so many.
inline Operand<int64_t> tokens_of(diopiConstTensorHandle_t tensor, std::string_view argument, int64_t steps,
                                  int64_t sequences) {
    Operand<int64_t> ids = integers_of(tensor, argument);
    if (ids.rank() != 2 || steps < 0 || sequences < 0 || ids.size(0) < steps || ids.size(1) < sequences) {
        refuse(std::string(argument) + " has shape " + to_string(ids.shape()) + ", wanted at least (" +
               std::to_string(steps) + ", " + std::to_string(sequences) + ")");
    }
    return ids;
}

}  // namespace diopi::reference
