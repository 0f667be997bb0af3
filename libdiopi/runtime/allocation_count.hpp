/// The bytes that the C allocator has given out and not got back, to us and to the library alike.
#pragma once

#include <cstdint>

namespace diopi {

/// The counter of a program that defines malloc itself. apps/diopi/counted_malloc.cpp has one.
struct AllocationCounter {
    /// From now on a request that finds no memory is tried again where give_back() returns true.
    void (*start)(bool (*give_back)());
    int64_t (*bytes)();  ///< bytes given out since the start, less those that were freed since
};

/// To be called before main.
void offer_allocation_counter(const AllocationCounter& counter);
/// Starts the counter that this program offers; does nothing without one.
void count_allocations();
/// Whether a counter runs. Then each freed byte counts as freed at once, and asking costs nothing.
[[nodiscard]] bool counts_allocations();

/// Without a counter from the allocator's own statistics: it looks through all of its free pieces, and those that it
/// keeps at hand for the next request count as given out.
[[nodiscard]] int64_t allocated_bytes_of_process();

}  // namespace diopi
