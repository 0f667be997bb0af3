/// How the records of fallback-sim are read: tables, JSON, and the lines that the standard's users know.
#pragma once

#include <string>
#include <string_view>

#include "journal/bisect_record.hpp"
#include "journal/fallback_record.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// What fell back, what a step takes, and which results change.
[[nodiscard]] std::string fallback_text(const FallbackRecord& record, std::string_view backend, std::string_view other,
                                        const Screen& screen);

/// The forced operators and each of their calls.
[[nodiscard]] std::string fallback_seed_lines(const FallbackRecord& record);

/// What is to blame, and how to repeat the run with it falling back.
[[nodiscard]] std::string bisect_text(const BisectRecord& record, const std::string& repeat);
[[nodiscard]] std::string bisect_json(const BisectRecord& record);

}  // namespace diopi
