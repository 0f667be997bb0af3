/// The functions that a library lacks, and the calls that it declined.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "journal/record.hpp"
#include "json/json_text.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// Calls of one kind among all.
struct Share {
    int64_t part = 0, all = 0;
};

/// A function whose calls were declined, all or some of them.
struct DeclinedFunction {
    std::string function;                 ///< as reports name it: "mm", "mm_backward"
    Share calls;                          ///< the declined ones among those that reached the library
    std::map<std::string, Share> dtypes;  ///< the same by the dtype of the case
    /// The property that all declined calls have, and no other call of these dtypes: "the last dim of the first tensor
    /// is no multiple of 64". Empty if no simple rule is known.
    std::string pattern;
};

struct Gaps {
    std::map<std::string, int64_t> absent;  ///< C functions that are not there, with the calls that needed them
    std::vector<DeclinedFunction> declined;
    /// Steps that passed in cases that count as not implemented, because another step of them is: by name.
    std::map<std::string, int64_t> passed_steps;

    [[nodiscard]] bool empty() const { return absent.empty() && declined.empty(); }
};

[[nodiscard]] Gaps gaps_of(const std::vector<CaseResult>& results);

/// Some lines for the report of a run; empty without gaps.
[[nodiscard]] std::string gaps_text(const Gaps& gaps, const Screen& screen);
[[nodiscard]] Json gaps_json(const Gaps& gaps);

}  // namespace diopi
