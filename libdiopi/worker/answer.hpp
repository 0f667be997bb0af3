/// An answer as it comes through a worker's socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/work.hpp"

namespace diopi {

/// All of it but whether it is the last, which stands in the answer's head.
[[nodiscard]] std::string pack_answer(const WorkAnswer& answer);
/// Nothing where these bytes are no answer.
[[nodiscard]] std::optional<WorkAnswer> unpack_answer(std::string_view bytes);

}  // namespace diopi
