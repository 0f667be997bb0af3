#include "journal/shard_label.hpp"

#include <fmt/format.h>

#include <charconv>

namespace diopi {

std::string to_string(Shard shard) { return fmt::format("{}/{}", shard.number, shard.count); }

Result<int64_t> parse_count(std::string_view text, std::string_view what) {
    int64_t number = -1;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == end && number >= 0;
    return whole ? Result<int64_t>(number) : bad_input(fmt::format("{} '{}' is no whole number", what, text));
}

Result<Shard> parse_shard(std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        return bad_input(fmt::format("'{}' is no shard; write K/N, such as 2/4 for the second of four", text));
    }
    const auto number = parse_count(text.substr(0, slash), fmt::format("shard {}:", text));
    const auto count = parse_count(text.substr(slash + 1), fmt::format("shard {}:", text));
    if (!number.ok()) return bad_input(number.error().message + "; write K/N, such as 2/4");
    if (!count.ok()) return bad_input(count.error().message + "; write K/N, such as 2/4");
    if (*count < 1 || *count > kMostShards) {
        return bad_input(fmt::format("shard {}: a run has 1 to {} shards, not {}", text, kMostShards, *count));
    }
    if (*number < 1 || *number > *count) {
        return bad_input(fmt::format("shard {}: shards are numbered from 1 to {}", text, *count));
    }
    return Shard{*number, *count};
}

}  // namespace diopi
