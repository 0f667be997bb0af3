/// A capture's structure as JSON text; docs/capture.md describes the form. A replay bundle's call is a capture of one.
#pragma once

#include <string>
#include <string_view>

#include "capture/capture.hpp"
#include "core/status.hpp"

namespace diopi {

/// One line per storage, tensor and call. A sparse tensor, and an argument that does not fit its C type, is an error.
[[nodiscard]] Result<std::string> capture_to_json(const Capture& capture);

/// Every member is checked, each tensor keeps within its storage, and every id is known; `where` begins each message.
/// What a call without a function writes comes in the order of the tensors.
[[nodiscard]] Result<Capture> capture_from_json(std::string_view text, const std::string& where);

/// The storages and tensors alone: an object with these two members.
[[nodiscard]] Result<std::string> tensors_to_json(const Capture& capture);
[[nodiscard]] Result<Capture> tensors_from_json(std::string_view text, const std::string& where);

}  // namespace diopi
