/// A backend with a memory checker around its device, when one is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/memory_checker.hpp"
#include "target/implementation.hpp"

namespace diopi {

struct MemoryCheckOptions {
    bool enabled = false;    ///< report memory that is not freed
    bool backtrace = false;  ///< with the stacks of its allocations
};

class CheckedBackend {
 public:
    /// The backend that Implementation::find finds.
    [[nodiscard]] static Result<CheckedBackend> find(const std::string& name, const LibraryOptions& options,
                                                     const MemoryCheckOptions& check);

    [[nodiscard]] const Backend& operator*() const { return watched_ == nullptr ? **plain_ : *watched_; }
    [[nodiscard]] const Backend* operator->() const { return &**this; }
    /// Lines about memory that was allocated since the last report and not freed; `where`: "in case ops/add.add.0".
    /// Empty when there is none, or without a memory checker.
    [[nodiscard]] std::string leaks(std::string_view where);

 private:
    std::optional<Implementation> plain_;
    std::unique_ptr<MemoryChecker> checker_;
    std::unique_ptr<Backend> watched_;
    uint64_t reported_ = 0;  ///< newest block at the last report
};

}  // namespace diopi
