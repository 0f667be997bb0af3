/// What a worker process does before its first item.
#pragma once

namespace diopi {

/// Freed memory stays with the worker: else every large tensor is fetched from the kernel page by page. One thread: its
/// siblings have the other processors.
void set_up_worker();

}  // namespace diopi
