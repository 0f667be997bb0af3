/// Files that are either complete or not there: written beside their place, synced, then renamed.
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// Name under which `path` is written until it is complete.
[[nodiscard]] std::string part_path(const std::string& path);

/// Creates the folder of `path` with all its parents.
Status make_parent_folder(const std::string& path);

/// Syncs the complete `path`.part to the disk and gives it its name. A former file of that name is replaced in one
/// step.
Status publish_part(const std::string& path);

/// Writes `content` to `path` in one step: on any error, a full disk included, the former file stays as it was.
Status write_file_atomically(const std::string& path, std::string_view content);

/// The whole file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

/// Writes all bytes to a descriptor, over interruptions and short writes; `path` serves the message.
Status write_all(int fd, std::string_view bytes, const std::string& path);

}  // namespace diopi
