/// An audit: all problems of a library, found without loading it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/library_symbols.hpp"

namespace diopi {

struct LibraryAudit {
    std::string path, machine;
    bool is_ours = false;  ///< built for the machine of this program; of another one only the header was read
    LibrarySymbols symbols;
    std::vector<std::string> needed;     ///< in its own table
    std::vector<std::string> not_found;  ///< missing libraries that it, or one of its dependencies, needs
    std::vector<std::string> undefined;  ///< symbols that neither this program nor a needed library has
    /// Why functions are missing, as the library says itself: "diopiNms", "it is a function of torchvision".
    std::vector<std::pair<std::string, std::string>> reasons;
    std::vector<std::string> messages;  ///< other messages of the dynamic linker

    /// Whether `--impl path` can use it as it is.
    [[nodiscard]] bool is_usable() const;
};

/// Bad input if the file cannot be read as ELF.
[[nodiscard]] Result<LibraryAudit> audit_library(const std::string& path);

}  // namespace diopi
