/// The host memory of large tensors, which outlives them: the pages of a freed block serve the next blocks.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>

namespace diopi {

/// Blocks of whole pages that are mapped apart from the C allocator's heap, which becomes fragmented: with small pieces
/// between large ones, large blocks fit into no gap, and the heap grows although most of it is free. Freed pages are
/// kept mapped, because the kernel clears each page that it hands out; neighbours are joined, and where no range is
/// large enough, pages of several are moved together, so that a block of any size gets them. Huge pages were tried and
/// were slower: the kernel has to free them first. Used and kept bytes together never exceed the most that was used at
/// one time since the last trim(), or that was kept then. Several threads may use it.
class Arena {
 public:
    Arena() = default;
    ~Arena() { trim(0); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// At least `nbytes` > 0 bytes from the start of a page, contents undefined; null when there is no memory, even
    /// without what is kept.
    [[nodiscard]] void* allocate(size_t nbytes);
    /// `nbytes` is the size that was requested.
    void free(void* memory, size_t nbytes);
    /// Returns kept pages to the kernel until at most `kept` bytes are left.
    void trim(size_t kept);
    /// Returns all of them; false where there are none, or where the arena is at work.
    bool give_back();

    [[nodiscard]] size_t used_bytes() const;  ///< whole pages
    [[nodiscard]] size_t kept_bytes() const;

    /// Bytes of the block for such a request: whole pages.
    [[nodiscard]] static size_t rounded(size_t nbytes);

 private:
    [[nodiscard]] std::byte* take_kept(size_t size);
    [[nodiscard]] std::byte* map(size_t size);
    void keep(std::byte* start, size_t size);
    void release(size_t size);
    void drop_front(size_t size);

    mutable std::mutex mutex_;
    std::map<std::byte*, size_t> kept_;  ///< by address; no two are neighbours
    std::set<std::byte*> seams_;         ///< where mappings may begin: pages on both sides are moved apart
    size_t used_ = 0, kept_size_ = 0, most_ = 0;
};

/// From now on cpu_device() takes blocks of 1 MiB and more from an arena.
void keep_freed_blocks();
/// Gives back kept pages until at most so many bytes are left, and no more than a worker should hold from one case to
/// the next.
void trim_freed_blocks(size_t most);
/// Gives back all kept pages; false where there are none.
bool give_back_freed_blocks();

}  // namespace diopi
