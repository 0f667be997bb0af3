#include "run/worker_setup.hpp"

#include <malloc.h>
#include <omp.h>

namespace diopi {

void set_up_worker() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    omp_set_num_threads(1);
}

}  // namespace diopi
