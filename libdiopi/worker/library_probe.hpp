/// Tests in a separate process whether a vendor's library can be used.
#pragma once

#include <string>
#include <vector>

#include "backend/library_backend.hpp"

namespace diopi {

/// Opens the library in a worker, makes a stream, allocates and frees a little memory, and calls finalizeLibrary, which
/// no other process of this program does. An initialiser that crashes, ends the process or takes longer than
/// `timeout_s`, and a device that cannot do this, are bad input. Returns warnings for the user: a
/// finaliser that hangs or crashes, text on standard output.
[[nodiscard]] Result<std::vector<std::string>> probe_library(LibraryBackend& library, double timeout_s);

}  // namespace diopi
