/// The state of a cold call: caches that have none of its tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/status.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Cold calls, and the eviction between them, use this many last-level caches of memory.
inline constexpr double kCacheRounds = 4;

/// Moves more memory than the caches hold: the host's by the host, a device's by copies on the context's stream.
class Eviction {
 public:
    Eviction(Context& context, int64_t cache_bytes);

    /// Whether eviction is possible: a device needs copies inside of its memory (StreamCopies).
    [[nodiscard]] Result<bool> is_possible();
    /// Evicts if it is possible. On a device it is enqueued without waiting.
    Status operator()();

 private:
    Status copy_halves();

    Context* context_;
    size_t bytes_;
    std::shared_ptr<void> memory_;  ///< null before the first use
    std::optional<bool> is_possible_;
};

}  // namespace diopi
