/// What remains to be saved of cases whose workers died: told by the parent to a worker, which may be older than the
/// death, through memory that both see.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "conformance/save_failures.hpp"
#include "core/status.hpp"

namespace diopi {

class FollowUps {
 public:
    /// Room for so many at a time. To be made before the workers are.
    [[nodiscard]] static Result<FollowUps> create(size_t room);
    FollowUps(FollowUps&& other) noexcept;
    FollowUps& operator=(FollowUps&& other) = delete;
    ~FollowUps();

    /// In the parent: a place for the case, nullopt when there is none. A long reason is cut.
    [[nodiscard]] std::optional<size_t> put(size_t item, const Unsaved& unsaved);
    void release(size_t place) { taken_[place] = false; }

    struct Note {
        size_t item = 0;
        Unsaved unsaved;
    };
    /// In a worker. A stray write may have garbled it.
    [[nodiscard]] Note read(size_t place) const;

 private:
    struct Slot;
    FollowUps(Slot* slots, size_t room) : slots_(slots), taken_(room) {}

    Slot* slots_;
    std::vector<bool> taken_;
};

}  // namespace diopi
