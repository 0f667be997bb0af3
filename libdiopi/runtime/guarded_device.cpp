#include "runtime/guarded_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "core/philox.hpp"
#include "runtime/arena.hpp"

namespace diopi {

namespace {

constexpr size_t kZone = 4096;
constexpr size_t kEndAlignment = 64;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

/// A pattern without a short period: a stray write of a constant or of a row changes some of its bytes. Read as
/// numbers of any floating dtype it is NaN everywhere, so that a stray read shows in the result: each pair of bytes is
/// from 0xfff1 to 0xffff.
constexpr std::array<std::byte, kZone> kPattern = [] {
    std::array<std::byte, kZone> pattern{};
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i + 1 < kZone; i += 2) {
        state = state * 6364136223846793005 + 1442695040888963407;
        pattern[i] = static_cast<std::byte>(0xf1 + (state >> 56) % 15);
        pattern[i + 1] = std::byte{0xff};
    }
    return pattern;
}();

/// The protected pages of this process. A signal handler reads them, hence no lock and no allocation.
struct PagedBlock {
    std::byte* low = nullptr;    ///< start of the page before
    std::byte* start = nullptr;  ///< the block
    std::byte* end = nullptr;
    std::byte* high = nullptr;  ///< end of the page behind
    char name[48] = "workspace";
};
constexpr size_t kPagedBlocks = 256;
PagedBlock g_paged[kPagedBlocks];

PagedBlock* paged_block(const std::byte* start) {
    for (PagedBlock& block : g_paged) {
        if (block.start == start) return &block;
    }
    return nullptr;
}

/// First and last byte of `found` that differ from the pattern; -1 where none does.
struct Changed {
    int64_t first = -1, last = -1, count = 0;
};

Changed compare(const std::byte* found, size_t nbytes) {
    Changed changed;
    if (std::memcmp(found, kPattern.data(), nbytes) == 0) return changed;
    for (size_t i = 0; i < nbytes; ++i) {
        if (found[i] == kPattern[i]) continue;
        if (changed.first < 0) changed.first = static_cast<int64_t>(i);
        changed.last = static_cast<int64_t>(i);
        ++changed.count;
    }
    return changed;
}

std::string count_of_bytes(int64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

/// Formats text in a signal handler, which must not call printf.
class SignalText {
 public:
    explicit SignalText(std::span<char> text) : text_(text) {}
    void add(const char* words) {
        while (*words != '\0' && at_ + 1 < text_.size()) text_[at_++] = *words++;
        text_[at_] = '\0';
    }
    void add(int64_t n) {
        char digits[24];
        size_t count = 0;
        do {
            digits[count++] = static_cast<char>('0' + n % 10);
            n /= 10;
        } while (n > 0);
        char word[2] = {0, 0};
        while (count > 0) {
            word[0] = digits[--count];
            add(word);
        }
    }

 private:
    std::span<char> text_;
    size_t at_ = 0;
};

/// Pages of `inner` bytes between two protected ones; null where there is no memory.
std::byte* map_between_pages(size_t inner, size_t page) {
    const size_t whole = inner + 2 * page;
    void* mapped = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* low = static_cast<std::byte*>(mapped);
    if (mprotect(low + page, inner, PROT_READ | PROT_WRITE) == 0) return low;
    munmap(mapped, whole);
    return nullptr;
}

}  // namespace

Status GuardedDevice::fill(std::byte* guard, size_t nbytes) {
    return write_now(*device_, guard, kPattern.data(), nbytes);
}

size_t GuardedDevice::next_shift() {
    constexpr uint32_t kShifts = 64;
    if (!addresses_) return 0;
    return philox(*addresses_, allocations_++, 0)[0] % kShifts * kEndAlignment;
}

Result<std::shared_ptr<void>> GuardedDevice::allocate_zoned(size_t nbytes, size_t zone, Block& block) {
    const size_t shift = next_shift();
    size_t whole = 0;
    if (__builtin_add_overflow(nbytes, 2 * zone + shift, &whole)) {
        return failed("cannot allocate " + std::to_string(nbytes) + " bytes");
    }
    auto memory = device_->allocate(whole);
    if (!memory.ok()) return memory;
    block.before = zone;
    block.behind = zone;
    // The last owner of the part is the owner of the whole.
    return std::shared_ptr<void>(*memory, static_cast<std::byte*>(memory->get()) + zone + shift);
}

Result<std::shared_ptr<void>> GuardedDevice::allocate_paged(size_t nbytes, Block& block) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t padded = round_up(nbytes, kEndAlignment);
    const size_t inner = round_up(padded, page);
    const size_t whole = inner + 2 * page;
    std::byte* low = map_between_pages(inner, page);
    if (low == nullptr && give_back_freed_blocks()) low = map_between_pages(inner, page);
    if (low == nullptr) {
        return failed("out of memory: " + std::to_string(nbytes) +
                      " bytes between protected pages; try --checks all, which guards without them");
    }
    std::byte* start = low + page + (inner - padded);
    block.before = std::min(inner - padded, kZone);
    block.behind = padded - nbytes;
    if (PagedBlock* entry = paged_block(nullptr)) *entry = {low, start, start + nbytes, low + whole};
    return std::shared_ptr<void>(start, [low, whole, start](void*) {
        if (PagedBlock* entry = paged_block(start)) *entry = {};
        munmap(low, whole);
    });
}

Result<std::shared_ptr<void>> GuardedDevice::allocate(size_t nbytes) {
    if (nbytes == 0) return device_->allocate(nbytes);
    Block block;
    if (guard_ == Guard::kNone) return allocate_zoned(nbytes, 0, block);
    block.nbytes = nbytes;
    const bool paged = guard_ == Guard::kPages && device_->is_host();
    auto memory = paged ? allocate_paged(nbytes, block) : allocate_zoned(nbytes, kZone, block);
    if (!memory.ok()) return memory;
    auto* start = static_cast<std::byte*>(memory->get());
    if (Status s = fill(start - block.before, block.before); !s.ok()) return s.error();
    if (Status s = fill(start + nbytes, block.behind); !s.ok()) return s.error();
    const std::scoped_lock lock(register_->mutex);
    register_->blocks[start] = std::move(block);
    return std::shared_ptr<void>(start, [all = register_, owner = *memory](void* p) {
        const std::scoped_lock unregister(all->mutex);
        all->blocks.erase(static_cast<std::byte*>(p));
    });
}

void GuardedDevice::name_block(const void* memory, std::string name) {
    const std::scoped_lock lock(register_->mutex);
    auto* start = static_cast<std::byte*>(const_cast<void*>(memory));
    const auto found = register_->blocks.find(start);
    if (found == register_->blocks.end()) return;
    if (PagedBlock* entry = paged_block(start)) {
        std::strncpy(entry->name, name.c_str(), sizeof entry->name - 1);
    }
    found->second.name = std::move(name);
}

bool GuardedDevice::has_block(const void* memory) const {
    const std::scoped_lock lock(register_->mutex);
    return register_->blocks.contains(static_cast<std::byte*>(const_cast<void*>(memory)));
}

void GuardedDevice::set_read_only(const void* memory, bool is_read_only) {
    if (guard_ != Guard::kPages || memory == nullptr) return;
    const PagedBlock* entry = paged_block(static_cast<const std::byte*>(memory));
    if (entry == nullptr) return;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::byte* first = entry->low + page;
    const auto size = static_cast<size_t>(entry->high - first) - page;
    (void)mprotect(first, size, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

Status GuardedDevice::check(diopiStreamHandle_t stream, std::byte* start, const Block& block,
                            std::vector<std::string>& lines) {
    std::array<std::byte, kZone> staged;
    const auto check_guard = [&](std::byte* guard, size_t nbytes, bool behind) -> Status {
        const std::byte* found = guard;
        if (!device_->is_host()) {
            if (Status s = device_->copy_to_host(stream, staged.data(), guard, nbytes); !s.ok()) return s;
            if (Status s = device_->synchronize(stream); !s.ok()) return s;
            found = staged.data();
        }
        const Changed changed = compare(found, nbytes);
        if (changed.count == 0) return {};
        const int64_t distance = behind ? changed.first : static_cast<int64_t>(nbytes) - 1 - changed.last;
        lines.push_back("wrote " + count_of_bytes(changed.count) +
                        (behind ? " past the end of " : " before the start of ") + block.name + ", the nearest " +
                        count_of_bytes(distance) + " away from it");
        return fill(guard, nbytes);
    };
    if (Status s = check_guard(start - block.before, block.before, false); !s.ok()) return s;
    return check_guard(start + block.nbytes, block.behind, true);
}

Result<std::vector<std::string>> GuardedDevice::damage(diopiStreamHandle_t stream) {
    const std::scoped_lock lock(register_->mutex);
    std::vector<std::string> lines;
    for (const auto& [start, block] : register_->blocks) {
        if (Status s = check(stream, start, block, lines); !s.ok()) return s.error();
    }
    return lines;
}

bool describe_guard_fault(const void* address, std::span<char> text) {
    const auto* at = static_cast<const std::byte*>(address);
    for (const PagedBlock& block : g_paged) {
        if (block.start == nullptr || at < block.low || at >= block.high) continue;
        const bool behind = at >= block.end;
        SignalText words(text);
        if (at >= block.start && !behind) {
            words.add("a write to ");
            words.add(block.name);
            words.add(", which is const");
            return true;
        }
        words.add(behind ? at - block.end : block.start - at);
        words.add(behind ? " bytes past the end of " : " bytes before the start of ");
        words.add(block.name);
        return true;
    }
    return false;
}

}  // namespace diopi
