/// What --impl, --against and --to name: a backend that is linked in, or the path of a vendor's library.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/library_backend.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// How libraries are opened.
struct LibraryFlags {
    std::string runtime;    ///< --impl-runtime
    double timeout_s = 30;  ///< --impl-timeout
    /// By their files, those that are open: one that is named twice is opened once.
    std::shared_ptr<std::map<std::string, std::weak_ptr<LibraryBackend>>> opened =
        std::make_shared<std::map<std::string, std::weak_ptr<LibraryBackend>>>();
};

void add_library_options(CLI::App& command, LibraryFlags& flags);

/// What must be appended to a command to open libraries in the same way.
[[nodiscard]] std::string repeat_library_options(const LibraryFlags& flags);

/// Whether it is the path of a library: it has a slash in it, or ends as a shared library's name does.
[[nodiscard]] bool is_library_path(const std::string& name);

class Implementation {
 public:
    /// A library is tried once in a process of its own (run/library_probe.hpp), and what is odd about it told on
    /// standard error. Any name but a path is that of a linked backend, whose device must be there.
    [[nodiscard]] static Result<Implementation> find(const std::string& name, const LibraryFlags& flags);

    [[nodiscard]] const Backend& operator*() const { return *backend_; }
    [[nodiscard]] const Backend* operator->() const { return backend_; }

 private:
    std::shared_ptr<LibraryBackend> opened_;  ///< keeps the backend of a library
    const Backend* backend_ = nullptr;
};

}  // namespace diopi
