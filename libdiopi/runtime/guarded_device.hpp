/// Guards: memory on both sides of every block of a device, so that a write past an edge is found.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device_decorator.hpp"

namespace diopi {

/// kZones: 4 KiB of a known pattern before and behind each block. kPages: each block, which must be host memory, also
/// ends (up to 63 bytes of pattern) at a protected page, and another protected page lies before its first one, so that
/// a stray read or write ends the process at the place where it happens.
enum class Guard { kNone, kZones, kPages };

/// Decorates any device; it forwards everything but allocate.
class GuardedDevice final : public DeviceDecorator {
 public:
    /// With `addresses`, a seed, blocks that do not end at a protected page start 0 to 63 times 64 bytes later: a seed
    /// has the same distances for the same allocations.
    GuardedDevice(Device& device, Guard guard, std::optional<uint64_t> addresses = {})
        : DeviceDecorator(device), guard_(guard), addresses_(addresses) {}

    /// The name of the block that starts at `memory`, for messages; "workspace" where none is given.
    void name_block(const void* memory, std::string name);
    /// Whether one of the live blocks, which have guards, starts at `memory`.
    [[nodiscard]] bool has_block(const void* memory) const;
    /// Whether the block that starts at `memory` may only be read, where blocks lie between protected pages: a write
    /// then ends the process.
    void set_read_only(const void* memory, bool is_read_only);
    /// The writes past the edges of the live blocks, a line each: "wrote 12 bytes past the end of out, the nearest 4
    /// bytes away from it". The stream must have been synchronised. Restores the guards.
    [[nodiscard]] Result<std::vector<std::string>> damage(diopiStreamHandle_t stream);

    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override;

 private:
    /// The guards of one block: `before` bytes in front of it, `behind` bytes after its end.
    struct Block {
        size_t nbytes = 0, before = 0, behind = 0;
        std::string name = "workspace";
    };

    /// Without guards, or between zones.
    [[nodiscard]] Result<std::shared_ptr<void>> allocate_zoned(size_t nbytes, size_t zone, Block& block);
    [[nodiscard]] Result<std::shared_ptr<void>> allocate_paged(size_t nbytes, Block& block);
    [[nodiscard]] size_t next_shift();
    [[nodiscard]] Status fill(std::byte* guard, size_t nbytes);
    [[nodiscard]] Status check(diopiStreamHandle_t stream, std::byte* start, const Block& block,
                               std::vector<std::string>& lines);

    /// The blocks that are alive; they share it, because one may outlive the device.
    struct Register {
        std::mutex mutex;
        std::map<std::byte*, Block> blocks;
    };

    Guard guard_;
    std::optional<uint64_t> addresses_;
    std::atomic<uint64_t> allocations_ = 0;
    std::shared_ptr<Register> register_ = std::make_shared<Register>();
};

/// For a handler of SIGSEGV and SIGBUS, hence without allocation: writes the meaning of an address in a protected page,
/// "8 bytes past the end of out", to `text` as a C string, or of one in a block that may only be read; false when it is
/// in no such page of this process.
bool describe_guard_fault(const void* address, std::span<char> text);

}  // namespace diopi
