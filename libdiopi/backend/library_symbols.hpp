/// The functions of the standard that a library defines, from its symbols alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/elf_file.hpp"

namespace diopi {

/// A function of the standard that was compiled as C++: its C name is missing.
struct MangledSymbol {
    std::string name;       ///< "diopiAdd"
    std::string signature;  ///< "diopiAdd(diopiContext*, diopiTensor*, ...)"
    std::string symbol;     ///< "_Z8diopiAdd..."
};

/// The functions of a library, in the order of the standard or of the library's table.
struct LibrarySymbols {
    std::vector<std::string> implemented, missing;    ///< operator functions
    std::vector<std::string> queries;                 ///< diopiGetVendorName and similar ones
    std::vector<std::string> device, missing_device;  ///< missing: only functions that are always needed
    std::vector<MangledSymbol> mangled;
    std::vector<std::string> unknown;      ///< diopi* that the standard does not have
    std::vector<std::string> own_runtime;  ///< functions of diopirt.h, which the host provides
    std::vector<std::string> undefined;    ///< symbols that must be found elsewhere to load it

    [[nodiscard]] bool has(std::string_view device_function) const;
};

[[nodiscard]] LibrarySymbols symbols_of(const ElfFile& file);

/// "it has no device_malloc, device_free; ..." with advice; empty when none is missing.
[[nodiscard]] std::string missing_device_text(const LibrarySymbols& symbols);

}  // namespace diopi
