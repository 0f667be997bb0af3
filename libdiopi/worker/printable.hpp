/// Text that fits into one line of a report, or of a payload between processes.
#pragma once

#include <string>
#include <string_view>

namespace diopi {

/// The first `most` bytes, with everything but printable ASCII escaped as in C ("
/// ", "\x1b"), and "..." at a cut.
[[nodiscard]] std::string printable(std::string_view bytes, size_t most);

/// The text with spaces for its line ends.
[[nodiscard]] std::string one_line(std::string text);

}  // namespace diopi
