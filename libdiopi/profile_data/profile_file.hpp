/// Profiles on the disk: `profile.h5` in a run folder, raw samples included. docs/profile.md describes the layout.
#pragma once

#include <string>

#include "core/status.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// FOLDER/profile.h5
[[nodiscard]] std::string profile_path(const std::string& folder);

/// The file gets its name only when it is complete.
Status write_profile(const std::string& path, const Profile& profile);

/// A missing or damaged file, or one of another kind or a newer format, is refused with a remedy.
[[nodiscard]] Result<Profile> read_profile(const std::string& path);

}  // namespace diopi
