/// A capture's structure as JSON text; docs/capture.md describes it. The call of a replay bundle is a capture of one
/// call.
#pragma once

#include <string>
#include <string_view>

#include "capture/capture.hpp"
#include "core/status.hpp"

namespace diopi {

/// One line per storage, tensor and call. A sparse tensor, or an argument that does not fit its C type, is an error.
[[nodiscard]] Result<std::string> capture_to_json(const Capture& capture);

/// Checks every member, every id, and that each tensor lies within its storage; `where` begins each message. The
/// tensors that a call without a function writes are in the order of the tensors.
[[nodiscard]] Result<Capture> capture_from_json(std::string_view text, const std::string& where);

/// Only the storages and tensors: an object with these two members.
[[nodiscard]] Result<std::string> tensors_to_json(const Capture& capture);
[[nodiscard]] Result<Capture> tensors_from_json(std::string_view text, const std::string& where);

}  // namespace diopi
