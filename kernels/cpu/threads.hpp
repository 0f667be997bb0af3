/// Loops over as many threads as OpenMP is set to, the number that oneDNN obeys too.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace diopi::cpu {

/// Kinds of loops over elements; those of `scattered` are each in a cache line of its own.
enum class Loop : uint8_t { copy, arithmetic, transcendental, sum, scattered };

/// The least number of elements per thread, by kind: so many float32 take 1.6 to 3.3 us in one thread of an AMD EPYC
/// (Zen 5) guest of two cores, scattered ones 14 us or more (Zen 3). `diopi_bench --benchmark_filter=threads` shows
/// whether a second thread pays from there.
constexpr int64_t kElementsPerThread[] = {1 << 16, 1 << 15, 1 << 14, 1 << 17, 1 << 11};

/// The number of threads for `count` items of `work` elements each: each thread has at least the elements of the table.
/// 1 within a parallel region.
[[nodiscard]] inline int threads_for(int64_t count, int64_t work, Loop loop) {
    if (count <= 1 || omp_in_parallel() != 0) return 1;
    const int64_t useful = count * std::max<int64_t>(work, 1) / kElementsPerThread[static_cast<size_t>(loop)];
    return static_cast<int>(std::clamp<int64_t>(std::min(useful, count), 1, omp_get_max_threads()));
}

/// Calls body(begin, end) for parts that cover [0, count), each in its own thread. body must not throw. An item has
/// about `work` elements.
template <class Body>
void parallel_for(int64_t count, int64_t work, Loop loop, Body&& body) {
    [[maybe_unused]] const int threads = threads_for(count, work, loop);
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
template <class Body>
void parallel_for(int64_t count, int64_t work, Body&& body) {
    parallel_for(count, work, Loop::arithmetic, body);
}

}  // namespace diopi::cpu
