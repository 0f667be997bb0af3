#include "runtime/memory_checker.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace diopi {

namespace {

constexpr int kMostFrames = 48;
/// The checker's own frame, which every backtrace begins with.
constexpr int kOwnFrames = 1;
constexpr std::string_view kPrefix = "dipu memory checker: ";

std::string demangled(const char* symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 ? text.get() : symbol;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

const char* plural(size_t n) { return n == 1 ? "" : "s"; }

}  // namespace

/// The live blocks by serial number, shared with the blocks.
class MemoryChecker::Blocks {
 public:
    uint64_t remember(LiveBlock block) {
        const std::lock_guard lock(mutex_);
        block.serial = ++last_serial_;
        live_.emplace(last_serial_, std::move(block));
        return last_serial_;
    }
    void remove(uint64_t serial) {
        const std::lock_guard lock(mutex_);
        live_.erase(serial);
    }
    [[nodiscard]] std::vector<LiveBlock> list(uint64_t after_serial) {
        const std::lock_guard lock(mutex_);
        std::vector<LiveBlock> blocks;
        for (auto it = live_.upper_bound(after_serial); it != live_.end(); ++it) blocks.push_back(it->second);
        return blocks;
    }
    [[nodiscard]] uint64_t last_serial() {
        const std::lock_guard lock(mutex_);
        return last_serial_;
    }

 private:
    std::mutex mutex_;
    std::map<uint64_t, LiveBlock> live_;
    uint64_t last_serial_ = 0;
};

MemoryChecker::MemoryChecker(Device& device, bool with_backtrace)
    : DeviceDecorator(device), with_backtrace_(with_backtrace), blocks_(std::make_shared<Blocks>()) {}

Result<std::shared_ptr<void>> MemoryChecker::allocate(size_t nbytes) {
    auto memory = device_->allocate(nbytes);
    if (!memory.ok() || *memory == nullptr) return memory;
    void* address = memory->get();
    LiveBlock block{address, nbytes, 0, {}};
    if (with_backtrace_) {
        void* frames[kMostFrames];
        const int count = ::backtrace(frames, kMostFrames);
        if (count > kOwnFrames) block.frames.assign(frames + kOwnFrames, frames + count);
    }
    const uint64_t serial = blocks_->remember(std::move(block));
    return std::shared_ptr<void>(address, [held = std::move(*memory), blocks = blocks_, serial](void*) mutable {
        blocks->remove(serial);
        held.reset();
    });
}

std::vector<LiveBlock> MemoryChecker::live(uint64_t after_serial) const { return blocks_->list(after_serial); }

uint64_t MemoryChecker::last_serial() const { return blocks_->last_serial(); }

std::string MemoryChecker::leak_report(size_t most, std::string_view where, uint64_t after_serial) const {
    const std::vector<LiveBlock> blocks = live(after_serial);
    if (blocks.empty()) return {};
    size_t nbytes = 0;
    for (const LiveBlock& block : blocks) nbytes += block.nbytes;
    std::string text = fmt::format("{}leaked {} block{}, {} byte{}{}{}\n", kPrefix, blocks.size(),
                                   plural(blocks.size()), nbytes, plural(nbytes), where.empty() ? "" : " ", where);
    for (size_t i = 0; i < std::min(most, blocks.size()); ++i) {
        const LiveBlock& block = blocks[i];
        text += fmt::format("{}  block {} of {} byte{} at {}\n", kPrefix, block.serial, block.nbytes,
                            plural(block.nbytes), block.address);
        for (void* frame : block.frames) text += fmt::format("{}    from {}\n", kPrefix, frame_text(frame));
    }
    if (blocks.size() > most) text += fmt::format("{}  and {} more\n", kPrefix, blocks.size() - most);
    return text;
}

std::string frame_text(void* return_address) {
    // The return address of a call at the very end of a function lies behind it: look at the call itself.
    const auto* call = static_cast<const char*>(return_address) - 1;
    Dl_info found = {};
    if (dladdr(call, &found) == 0 || found.dli_fname == nullptr) return fmt::format("? ({})", return_address);
    const std::string function = found.dli_sname == nullptr ? "?" : demangled(found.dli_sname);
    return fmt::format("{} ({}+{:#x})", function, file_name(found.dli_fname),
                       call - static_cast<const char*>(found.dli_fbase));
}

}  // namespace diopi
