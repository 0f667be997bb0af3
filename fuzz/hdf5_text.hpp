/// HDF5 files with unusual objects, described by a text: the HDF5 library itself is not safe against arbitrary bytes
/// (docs/fuzz.md).
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
/// A line that is not possible is ignored.
void build_hdf5(const std::string& path, std::string_view text);

}  // namespace diopi::fuzz
