/// A check of the files that a user names.
#pragma once

#include <string>

#include "core/status.hpp"

namespace diopi {

/// Bad input if the path is a folder, or a pipe or a device, which a read would wait for without end. A missing file is
/// fine here: opening it gives a better message.
[[nodiscard]] Status check_input_file(const std::string& path);

}  // namespace diopi
