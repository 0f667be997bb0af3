/// The bundles still to be saved for cases whose workers died. The parent passes them to a worker, which may be older
/// than the death, through shared memory.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "conformance/save_failures.hpp"
#include "core/status.hpp"

namespace diopi {

class FollowUps {
 public:
    /// Memory for this many at a time. Create it before the workers.
    [[nodiscard]] static Result<FollowUps> create(size_t capacity);
    FollowUps(FollowUps&& other) noexcept;
    FollowUps& operator=(FollowUps&& other) = delete;
    ~FollowUps();

    /// In the parent: stores the case at a place; nullopt when all are in use. A long reason is cut.
    [[nodiscard]] std::optional<size_t> put(size_t item, const Unsaved& unsaved);
    void release(size_t place) { taken_[place] = false; }

    struct Note {
        size_t item = 0;
        Unsaved unsaved;
    };
    /// In a worker: reads a place, which a stray write may have damaged.
    [[nodiscard]] Note read(size_t place) const;

 private:
    struct Slot;
    FollowUps(Slot* slots, size_t capacity) : slots_(slots), taken_(capacity) {}

    Slot* slots_;
    std::vector<bool> taken_;
};

}  // namespace diopi
