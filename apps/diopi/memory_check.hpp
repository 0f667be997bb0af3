/// The memory checker around a subcommand's backend, when the environment asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "implementation.hpp"
#include "runtime/memory_checker.hpp"

namespace diopi {

/// The backend that --impl names; under DIPU_MEM_CHECK its device is watched by a memory checker.
class CheckedBackend {
 public:
    [[nodiscard]] static Result<CheckedBackend> find(const std::string& name, const LibraryFlags& flags);

    [[nodiscard]] const Backend& operator*() const { return watched_ == nullptr ? **plain_ : *watched_; }
    [[nodiscard]] const Backend* operator->() const { return &**this; }
    /// Lines about what was asked for since the last report and is still held; `where`: "in case ops/add.add.0". Empty
    /// when nothing is, or when nobody watches.
    [[nodiscard]] std::string leaks(std::string_view where);

 private:
    std::optional<Implementation> plain_;
    std::unique_ptr<MemoryChecker> checker_;
    std::unique_ptr<Backend> watched_;
    uint64_t reported_ = 0;  ///< youngest block at the last report
};

}  // namespace diopi
