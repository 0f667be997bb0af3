#include "backend/library_audit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>
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

/// Takes the lines "function: reason" for functions that are missing.
void take_reasons(LibraryAudit& audit, std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const size_t colon = line.find(": ");
        if (colon == std::string_view::npos) continue;
        const std::string function(line.substr(0, colon));
        const auto& missing = audit.symbols.missing;
        if (std::ranges::find(missing, function) == missing.end()) continue;
        audit.reasons.emplace_back(function, line.substr(colon + 2));
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
    take_reasons(audit, file->reasons);
    audit.needed = file->needed;
    auto needed = list_needed_libraries(path);
    if (!needed.ok()) return needed.error();
    resolve(audit, *needed);
    return audit;
}

}  // namespace diopi
