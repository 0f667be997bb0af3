#include "runtime/allocation_count.hpp"

#include <malloc.h>

#include <cstddef>

#include "runtime/arena.hpp"

#ifdef __SANITIZE_ADDRESS__
/// The sanitizer's library has this function; GCC has no header for it.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace diopi {

namespace {

const AllocationCounter* offered = nullptr;
bool is_running = false;

}  // namespace

void offer_allocation_counter(const AllocationCounter& counter) { offered = &counter; }

void count_allocations() {
    if (offered == nullptr) return;
    offered->start(give_back_freed_blocks);
    is_running = true;
}

bool counts_allocations() { return is_running; }

int64_t allocated_bytes_of_process() {
    if (is_running) return offered->bytes();
#ifdef __SANITIZE_ADDRESS__
    return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#else
    const struct mallinfo2 info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
#endif
}

}  // namespace diopi
