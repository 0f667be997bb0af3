#include "worker/worker_setup.hpp"

#include <malloc.h>
#include <omp.h>

#include "runtime/allocation_count.hpp"
#include "runtime/arena.hpp"

namespace diopi {

namespace {

int g_threads = 1;

}  // namespace

void set_threads_of_worker(int threads) { g_threads = threads; }

void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
}

void set_up_worker() {
    keep_freed_memory();
    keep_freed_blocks();
    count_allocations();
    omp_set_num_threads(g_threads);
}

void trim_worker(size_t most_kept) { trim_freed_blocks(most_kept); }

}  // namespace diopi
