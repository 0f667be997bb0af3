/// Shard K of N: the part of a run that a process has, as the command line and the journal write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// The largest number of parts of a run.
inline constexpr int64_t kMostShards = 1'000'000;

struct Shard {
    int64_t number = 1;  ///< from 1 to count
    int64_t count = 1;
    bool operator==(const Shard&) const = default;
};

/// "2/4".
[[nodiscard]] std::string to_string(Shard shard);
/// The shard in such a text; bad input for any other text, or when K is not from 1 to N.
[[nodiscard]] Result<Shard> parse_shard(std::string_view text);
/// A whole number without sign, blanks or other characters after it; bad input that names it as `what` otherwise.
[[nodiscard]] Result<int64_t> parse_count(std::string_view text, std::string_view what);

}  // namespace diopi
