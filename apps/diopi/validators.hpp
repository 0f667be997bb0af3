/// Checks of option values that several subcommands share.
#pragma once

#include <string>

namespace CLI {
class Validator;
}  // namespace CLI

namespace diopi {

/// Accepts a number of seconds above 0, nothing else.
[[nodiscard]] CLI::Validator seconds_above_zero();

/// Accepts a time such as 90, 90s, 15m or 8h.
[[nodiscard]] CLI::Validator time_span();

/// Its seconds; 0 for an empty text, or one that is no time.
[[nodiscard]] double seconds_of_span(const std::string& text);

/// Numbers of all options are whole texts: decimal, without leading zeros, a sign where there may be one, and within
/// the range of their type. "", 010, 0x10, 1e400 and one above 2^64 are errors. Called when all options are there.
void read_numbers_strictly(CLI::App& app);

}  // namespace diopi
