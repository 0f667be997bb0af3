/// The libraries that the dynamic linker would load for a library, from its own list: it maps the files and runs none
/// of their code.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

struct NeededLibrary {
    std::string name;  ///< "libdnnl.so.2"
    std::string path;  ///< empty: not found
};

struct NeededLibraries {
    std::vector<NeededLibrary> libraries;  ///< those of the library and, in turn, of its dependencies
    std::vector<std::string> messages;     ///< other messages of the linker: "... version `GLIBC_2.38' not found ..."
};

[[nodiscard]] Result<NeededLibraries> list_needed_libraries(const std::string& path);

}  // namespace diopi
