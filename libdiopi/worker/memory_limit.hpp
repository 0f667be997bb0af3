/// The limit of a worker's memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// "4G", "512M", "1.5GiB", "0": bytes. Suffixes K, M, G and T are powers of 1024; below 64M only 0, which means no
/// limit. Bad input for other texts, with valid ones.
[[nodiscard]] Result<int64_t> parse_memory_size(std::string_view text);

/// "4.0 GiB".
[[nodiscard]] std::string memory_text(int64_t bytes);

/// The share of the machine's available memory for each of this many workers, 1 GiB at least; 0 (no limit) when
/// it is unknown.
[[nodiscard]] int64_t fair_share_of_memory(int workers);

/// Bytes of data that this process has, which a fork inherits.
[[nodiscard]] int64_t data_of_process();

/// Limits this process to this many bytes of data beyond those that it has; 0: no limit. No limit under the address
/// sanitizer either, which reserves more than any machine has.
void limit_memory(int64_t bytes);
/// The bytes of the last call of that in this process; 0: no limit.
[[nodiscard]] int64_t memory_limit();
[[nodiscard]] bool can_limit_memory();

}  // namespace diopi
