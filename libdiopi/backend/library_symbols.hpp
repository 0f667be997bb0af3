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

/// Of each list, in the order of the standard or of the library's table.
struct LibrarySymbols {
    std::vector<std::string> implemented, missing;    ///< operator functions
    std::vector<std::string> queries;                 ///< diopiGetVendorName and its like
    std::vector<std::string> device, missing_device;  ///< missing: of those that nothing goes without
    std::vector<MangledSymbol> mangled;
    std::vector<std::string> unknown;      ///< diopi* that the standard does not have
    std::vector<std::string> own_runtime;  ///< functions of diopirt.h, which the host provides
    std::vector<std::string> undefined;    ///< that it cannot be loaded without

    [[nodiscard]] bool has(std::string_view device_function) const;
};

[[nodiscard]] LibrarySymbols symbols_of(const ElfFile& file);

/// "device_malloc and device_free are missing; ..." with the advice that goes with it; empty when none is missing.
[[nodiscard]] std::string missing_device_text(const LibrarySymbols& symbols);

}  // namespace diopi
