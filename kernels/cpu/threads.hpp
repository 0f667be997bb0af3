/// Loops over as many threads as OpenMP is set to, the number that oneDNN obeys too.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace diopi::cpu {

/// The least number of elements for which another thread is worthwhile. An estimate, not measured yet.
constexpr int64_t kWorkPerThread = 1 << 15;

/// The number of threads for `count` items of `work` elements each: each thread has at least kWorkPerThread elements. 1
/// within a parallel region.
[[nodiscard]] inline int threads_for(int64_t count, int64_t work) {
    if (count <= 1 || omp_in_parallel() != 0) return 1;
    const int64_t useful = count * std::max<int64_t>(work, 1) / kWorkPerThread + 1;
    return static_cast<int>(std::min({useful, count, int64_t{omp_get_max_threads()}}));
}

/// Calls body(begin, end) for parts that cover [0, count), each in its own thread. body must not throw. An item has
/// about `work` elements.
template <class Body>
void parallel_for(int64_t count, int64_t work, Body&& body) {
    [[maybe_unused]] const int threads = threads_for(count, work);
#ifdef _OPENMP
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        {
            const int64_t id = omp_get_thread_num(), all = omp_get_num_threads();
            body(count * id / all, count * (id + 1) / all);
        }
        return;
    }
#endif
    if (count > 0) body(int64_t{0}, count);
}

}  // namespace diopi::cpu
