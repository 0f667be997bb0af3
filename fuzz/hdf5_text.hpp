/// HDF5 files of strange content, from a text that says what is in them: the library itself does not bear bytes that
/// others made up (docs/fuzz.md).
#pragma once

#include <string>
#include <string_view>

namespace diopi::fuzz {

/// Builds the file, a line per object:
///
///     group PATH
///     data PATH TYPE SIZES [chunked | packed | compact | outside]
///     attr PATH NAME int|real|text|texts|pair VALUE
///     soft|hard|far PATH TO
///
/// A line that cannot be obeyed is left out.
void build_hdf5(const std::string& path, std::string_view text);

}  // namespace diopi::fuzz
