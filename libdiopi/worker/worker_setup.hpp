/// Set-up of a process that runs many calls.
#pragma once

#include <cstddef>

namespace diopi {

/// Keeps freed memory in the process: otherwise the kernel provides every large tensor page by page.
void keep_freed_memory();

/// Before a worker's first item: it keeps its freed memory, and its OpenMP threads are those of set_threads_of_worker,
/// because other workers use the other processors.
void set_up_worker();
/// One at first.
void set_threads_of_worker(int threads);

/// Between two items of a worker: gives back freed memory until at most so many bytes are left, and at least that
/// which an item of usual size does not need.
void trim_worker(size_t most_kept);

}  // namespace diopi
