#include "backend/library_audit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <unordered_set>

#include "backend/dynamic_linker.hpp"

namespace diopi {

namespace {

using Names = std::unordered_set<std::string>;

/// The symbols of the libraries that a dlopen would load, too.
Names provided_by(const std::vector<NeededLibrary>& libraries) {
    Names names;
    for (const NeededLibrary& library : libraries) {
        // The kernel's own library has no file.
        if (library.path.empty() || library.path.find('/') == std::string::npos) continue;
        const auto file = read_elf_file(library.path);
        if (!file.ok()) continue;
        for (const ElfSymbol& symbol : file->symbols) {
            if (symbol.is_defined) names.insert(symbol.name);
        }
    }
    return names;
}

/// Finds undefined symbols. The library may be listed again as a dependency of a dependency.
void resolve(LibraryAudit& audit, const NeededLibraries& needed) {
    for (const NeededLibrary& library : needed.libraries) {
        if (library.path.empty()) audit.not_found.push_back(library.name);
    }
    audit.messages = needed.messages;
    const Names provided = provided_by(needed.libraries);
    for (const std::string& name : audit.symbols.undefined) {
        const bool is_found = provided.contains(name) || dlsym(RTLD_DEFAULT, name.c_str()) != nullptr;
        if (!is_found) audit.undefined.push_back(name);
    }
}

}  // namespace

bool LibraryAudit::is_usable() const {
    return is_ours && !symbols.implemented.empty() && symbols.mangled.empty() && symbols.missing_device.empty() &&
           not_found.empty() && undefined.empty() && messages.empty();
}

Result<LibraryAudit> audit_library(const std::string& path) {
    auto file = read_elf_file(path);
    if (!file.ok()) return file.error();
    LibraryAudit audit;
    audit.path = path;
    audit.machine = file->machine;
    audit.is_ours = file->is_ours;
    if (!file->is_ours) return audit;
    audit.symbols = symbols_of(*file);
    audit.needed = file->needed;
    auto needed = list_needed_libraries(path);
    if (!needed.ok()) return needed.error();
    resolve(audit, *needed);
    return audit;
}

}  // namespace diopi
