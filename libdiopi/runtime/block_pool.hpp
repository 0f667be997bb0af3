/// Large blocks of the host's memory that are kept when they are freed.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace diopi {

/// Takes each block separately from the kernel. The C allocator's heap becomes fragmented: with small pieces between
/// large ones, blocks of nearly equal sizes fit into no gap, and the heap grows although most of it is free. The pool
/// rounds nearly equal sizes to one size; its used and kept bytes together never exceed the most that was used at one
/// time. Several threads may use it.
class BlockPool {
 public:
    BlockPool() = default;
    ~BlockPool() { release(); }
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;

    /// At least `nbytes` > 0 bytes from the start of a page, contents undefined; null when there is no memory, even
    /// without what is kept.
    [[nodiscard]] void* allocate(size_t nbytes);
    /// `nbytes` is the size that was requested.
    void free(void* memory, size_t nbytes);
    /// Returns the kept blocks to the kernel.
    void release();

    [[nodiscard]] size_t used_bytes() const;  ///< rounded up
    [[nodiscard]] size_t kept_bytes() const;

    /// Bytes of the block for such a request: up to an eighth more, whole pages.
    [[nodiscard]] static size_t rounded(size_t nbytes);

 private:
    struct Block {
        void* memory;
        size_t size;
    };
    [[nodiscard]] void* take_kept(size_t size);
    void release_oldest();

    mutable std::mutex mutex_;
    std::vector<Block> kept_;  ///< in the order in which they were freed
    size_t used_ = 0, kept_size_ = 0, most_used_ = 0;
};

/// From now on cpu_device() takes blocks of 1 MiB and more from a pool.
void keep_freed_blocks();

}  // namespace diopi
