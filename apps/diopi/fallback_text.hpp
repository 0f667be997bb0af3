/// How fallback-sim prints what it found.
#pragma once

#include <string>
#include <vector>

#include "intercept/fallback.hpp"
#include "replay/bisect.hpp"
#include "replay/fallback_run.hpp"

namespace diopi {

/// What one simulation came to, with what only its process knows.
struct FallbackAnswer {
    FallbackReport report;
    std::vector<std::string> lines;      ///< in the words of --format seed
    std::vector<std::string> unmatched;  ///< items of the lists that matched no call
};

/// The line of one fallback as the standard's users know it.
[[nodiscard]] std::string seed_line(const FallbackEvent& event);

/// As JSON and back: the form that `--json` prints, and that a worker hands to its parent.
[[nodiscard]] std::string to_json(const FallbackAnswer& answer);
[[nodiscard]] FallbackAnswer fallback_from_json(const std::string& text);

/// The table and the lines below it.
void print_fallback(const FallbackAnswer& answer, std::string_view backend, std::string_view other);

/// The operators to blame and the command that repeats the run with them falling back.
void print_bisect(const BisectReport& report, const Capture& capture, const std::string& repeat);
[[nodiscard]] std::string to_json(const BisectReport& report, const Capture& capture);

}  // namespace diopi
