/// The bytes of an answer on a worker's socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/work.hpp"

namespace diopi {

/// Packs the answer, except whether it is the last, which is in the answer's head.
[[nodiscard]] std::string pack_answer(const WorkAnswer& answer);
/// Nullopt if these bytes are no answer.
[[nodiscard]] std::optional<WorkAnswer> unpack_answer(std::string_view bytes);

}  // namespace diopi
