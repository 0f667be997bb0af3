#include "conformance/follow_ups.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace diopi {

struct FollowUps::Slot {
    size_t item;
    Verdict verdict;
    char step[16];
    char reason[1000];
};

namespace {

void store(const std::string& text, std::span<char> room) {
    const size_t length = std::min(text.size(), room.size() - 1);
    std::memcpy(room.data(), text.data(), length);
    room[length] = '\0';
}

std::string load(std::span<const char> room) { return {room.data(), ::strnlen(room.data(), room.size())}; }

}  // namespace

Result<FollowUps> FollowUps::create(size_t capacity) {
    void* memory = ::mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return failed(std::string("cannot map pages for the workers: ") + std::strerror(errno));
    return FollowUps(static_cast<Slot*>(memory), capacity);
}

FollowUps::FollowUps(FollowUps&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), taken_(std::move(other.taken_)) {}

FollowUps::~FollowUps() {
    if (slots_ != nullptr) ::munmap(slots_, taken_.size() * sizeof(Slot));
}

std::optional<size_t> FollowUps::put(size_t item, const Unsaved& unsaved) {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) return std::nullopt;
    *free = true;
    const auto place = static_cast<size_t>(free - taken_.begin());
    Slot& slot = slots_[place];
    slot.item = item;
    slot.verdict = unsaved.verdict;
    store(unsaved.step, slot.step);
    store(unsaved.reason, slot.reason);
    return place;
}

FollowUps::Note FollowUps::read(size_t place) const {
    const Slot& slot = slots_[place];
    return {slot.item, {load(slot.step), slot.verdict, load(slot.reason)}};
}

}  // namespace diopi
