/// Bad calls of a run: how many the library refused, and what it did with the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "journal/record.hpp"
#include "json/json_text.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// The bad calls of one operator that were not refused in the same way.
struct NotRefused {
    std::string op;
    std::string outcome;             ///< the kind of the failure: "accepted", "crashed", "no answer", ...
    std::vector<std::string> cases;  ///< their ids
    std::string example;             ///< what was bad about the first one: "dim is 2"
};

struct Refusals {
    int64_t calls = 0, refused = 0;
    std::vector<NotRefused> others;  ///< by operator and outcome
};

[[nodiscard]] Refusals refusals_of(const std::vector<CaseResult>& results);

/// A sentence and a table for the report of a run; empty without bad calls.
[[nodiscard]] std::string refusals_text(const Refusals& refusals, const Screen& screen);
[[nodiscard]] Json refusals_json(const Refusals& refusals);

}  // namespace diopi
