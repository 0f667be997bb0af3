/// Profiles as text, and as messages between the processes of a run.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// For each call the position and number of its samples among those of all calls.
using SamplePlaces = std::vector<std::pair<size_t, size_t>>;

/// Everything but the samples, as JSON, with the positions of the samples.
[[nodiscard]] std::string profile_text(const Profile& profile);
/// Throws an exception that names a missing or mistyped member. The calls have no samples.
[[nodiscard]] Profile profile_from_text(std::string_view text, SamplePlaces& places);

/// The whole profile as bytes, for another process of this program.
[[nodiscard]] std::string pack_profile(const Profile& profile);
[[nodiscard]] Result<Profile> unpack_profile(std::string_view bytes);

}  // namespace diopi
