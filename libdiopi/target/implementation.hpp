/// The library of --impl, --against and --to: a linked backend, or the path of a vendor's library.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/library_backend.hpp"

namespace diopi {

/// Options for opening libraries.
struct LibraryOptions {
    std::string runtime;    ///< library of its device functions, or "cpu" for host memory; empty: its own
    double timeout_s = 30;  ///< time limit for its start
    /// Receives remarks about a library: "warning: ...".
    std::function<void(const std::string&)> on_note = {};
    /// The open libraries by their files, so that a library named twice is opened once.
    std::shared_ptr<std::map<std::string, std::weak_ptr<LibraryBackend>>> opened =
        std::make_shared<std::map<std::string, std::weak_ptr<LibraryBackend>>>();
};

/// Whether it is the path of a library: it contains a slash, or ends like a shared library, with or without "+tf32".
[[nodiscard]] bool is_library_path(const std::string& name);

class Implementation {
 public:
    /// A library is first tried in a process of its own (worker/library_probe.hpp). "+tf32" behind a path declares that
    /// its float32 products round their factors to TF32. Any other name is that of a linked backend, whose device must
    /// be there.
    [[nodiscard]] static Result<Implementation> find(const std::string& name, const LibraryOptions& options);

    [[nodiscard]] const Backend& operator*() const { return *backend_; }
    [[nodiscard]] const Backend* operator->() const { return backend_; }

 private:
    /// The backend of a library under the name that the user gave.
    struct InTf32 {
        std::string name;
        Backend backend;
    };

    std::shared_ptr<LibraryBackend> opened_;  ///< keeps the backend of a library
    std::shared_ptr<const InTf32> in_tf32_;   ///< null unless TF32 is declared
    const Backend* backend_ = nullptr;
};

}  // namespace diopi
