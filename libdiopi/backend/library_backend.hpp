/// LibraryBackend: a vendor's library, described by its symbols and opened in the processes that call it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/library_symbols.hpp"
#include "runtime/library_device.hpp"

namespace diopi {

class LibraryBackend final : public Plugin {
 public:
    /// Reads the file `path`, without loading it. `runtime` tells where the device functions are: in the library
    /// (empty), in another one (its path), or "cpu": operators work on the host's memory.
    [[nodiscard]] static Result<std::unique_ptr<LibraryBackend>> create(const std::string& path,
                                                                        const std::string& runtime);

    /// Its name is the path as it was given.
    [[nodiscard]] const Backend& backend() const { return backend_; }
    /// The absolute path of the file.
    [[nodiscard]] const std::string& file() const override { return file_; }
    [[nodiscard]] const LibrarySymbols& symbols() const { return symbols_; }
    /// Called by open() and finish() with their next action: "initLibrary of build/libdiopi_impl.so".
    std::function<void(const std::string& stage)> on_stage;
    /// The standard output of open() is discarded, because it belongs to no case.
    bool hides_output = true;

    /// Loads the libraries and calls initLibrary; later calls do nothing. The functions of one library never
    /// replace those of another.
    Status open() override;
    [[nodiscard]] const char* last_error() const override;
    /// Calls finalizeLibrary; no function may be called after it.
    Status finish();

 private:
    LibraryBackend(std::string name, std::string file, std::string runtime, LibrarySymbols symbols);

    void say(const std::string& stage) const;
    [[nodiscard]] Result<void*> load(const std::string& path) const;
    /// Looks the functions that are still null up in `handle`.
    static void find_device_functions(void* handle, DeviceFunctions& functions);
    [[nodiscard]] Status start(void* handle, const std::string& path, diopiError_t (*function)()) const;

    std::string name_, file_;
    std::string runtime_;  ///< path of the library with the device functions; empty: the host's memory
    LibrarySymbols symbols_;
    std::vector<AnyFunction> table_;
    DeviceFunctions functions_;
    LibraryDevice device_;
    Backend backend_;
    const char* (*last_error_)() = nullptr;
    /// finalizeLibrary of the library and of its runtime's, in the order of their calls.
    std::vector<std::pair<std::string, diopiError_t (*)()>> finishers_;
};

}  // namespace diopi
