#include "target/implementation.hpp"

#include <fmt/format.h>

#include "worker/backend_probe.hpp"
#include "worker/library_probe.hpp"

namespace diopi {

namespace {

constexpr std::string_view kTf32 = "+tf32";

/// The path without a declaration such as "+tf32".
std::string path_in(const std::string& name) {
    return name.ends_with(kTf32) ? name.substr(0, name.size() - kTf32.size()) : name;
}

/// Prints the warnings about the library.
Status try_out(LibraryBackend& library, const std::string& name, const LibraryOptions& options) {
    auto notes = probe_library(library, options.timeout_s);
    if (!notes.ok()) return notes.status();
    for (const MangledSymbol& one : library.symbols().mangled) {
        notes->push_back(
            fmt::format("{}: {} has C++ linkage and is not seen (diopi report --audit {})", name, one.signature, name));
    }
    if (!options.on_note) return {};
    for (const std::string& note : *notes) options.on_note("warning: " + note);
    return {};
}

}  // namespace

bool is_library_path(const std::string& given) {
    const std::string name = path_in(given);
    return name.find('/') != std::string::npos || name.ends_with(".so") || name.find(".so.") != std::string::npos;
}

Result<Implementation> Implementation::find(const std::string& name, const LibraryOptions& options) {
    Implementation found;
    if (!is_library_path(name)) {
        auto backend = find_backend(name);
        if (!backend.ok()) return backend.error();
        if (Status s = probe_backend(**backend, options.timeout_s); !s.ok()) return s.error();
        found.backend_ = *backend;
        return found;
    }
    const std::string path = path_in(name);
    auto library = LibraryBackend::create(path, options.runtime);
    if (!library.ok()) return library.error();
    std::weak_ptr<LibraryBackend>& known = (*options.opened)[(*library)->file()];
    found.opened_ = known.lock();
    if (found.opened_ == nullptr) {
        if (Status s = try_out(**library, path, options); !s.ok()) return s.error();
        found.opened_ = std::move(*library);
        known = found.opened_;
    }
    found.backend_ = &found.opened_->backend();
    if (path != name) {
        auto declared = std::make_shared<InTf32>(InTf32{name, *found.backend_});
        declared->backend = declared->backend.in_tf32(declared->name);
        found.in_tf32_ = declared;
        found.backend_ = &declared->backend;
    }
    return found;
}

}  // namespace diopi
