/// MemoryChecker: a device that records which of its blocks are not freed, and the stacks of their allocations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device_decorator.hpp"

namespace diopi {

/// A block that was allocated and not freed.
struct LiveBlock {
    const void* address = nullptr;
    size_t nbytes = 0;
    uint64_t serial = 0;             ///< 1 for the first block of the checker
    std::vector<void*> frames = {};  ///< return addresses, the innermost first; empty when no backtrace is kept
};

/// Forwards everything to the device below; blocks of 0 bytes have no memory and are not counted. Usable by several
/// threads when the device is. Blocks may outlive the checker, not the device.
class MemoryChecker : public DeviceDecorator {
 public:
    explicit MemoryChecker(Device& device, bool with_backtrace = false);

    /// Blocks that are still held, in the order in which they were handed out, from the one after `serial` on.
    [[nodiscard]] std::vector<LiveBlock> live(uint64_t after_serial = 0) const;
    /// Serial number of the newest block, live or not.
    [[nodiscard]] uint64_t last_serial() const;
    /// "dipu memory checker: leaked 2 blocks, 96 bytes" and `where`, then a line per block, for `most` blocks, with the
    /// functions that asked for it when backtraces are kept. Empty when nothing is held.
    [[nodiscard]] std::string leak_report(size_t most, std::string_view where = {}, uint64_t after_serial = 0) const;

    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override;

 private:
    class Blocks;

    bool with_backtrace_;
    std::shared_ptr<Blocks> blocks_;
};

/// "diopiRequireTensor (libdiopi.so+0x1f20)": function, file and offset of a return address; "?" for a function that
/// its file does not export.
[[nodiscard]] std::string frame_text(void* return_address);

}  // namespace diopi
