/// Profiles on the disk: `profile.h5` in a run folder, raw samples included. docs/profile.md describes the layout.
#pragma once

#include <string>

#include "core/status.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// FOLDER/profile.h5
[[nodiscard]] std::string profile_path(const std::string& folder);

/// Nothing appears under the name before the file is complete.
Status write_profile(const std::string& path, const Profile& profile);

/// A file that is missing, damaged, of another kind or of a newer format is refused with what to try.
[[nodiscard]] Result<Profile> read_profile(const std::string& path);

}  // namespace diopi
