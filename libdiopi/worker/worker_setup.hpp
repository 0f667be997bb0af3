/// What a process does before it runs many calls.
#pragma once

namespace diopi {

/// Freed memory stays with the process: else every large tensor is fetched from the kernel page by page.
void keep_freed_memory();

/// Before a worker's first item: it keeps its freed memory, and has one thread, for its siblings have the other
/// processors.
void set_up_worker();

}  // namespace diopi
