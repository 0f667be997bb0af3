/// Loops in OpenMP's threads: a worker has one of them, and more where few run.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

namespace diopi::reference {

/// Products of fewer terms take less time than it takes to start the threads where other processes use the cores.
constexpr double kLeastTermsOfThreads = 0x1p26;

/// Calls visit(i, buffer) once for each i from 0 to count - 1, with a buffer of the thread. One thread makes all calls
/// if they have few terms together. The calls must not depend on each other; so the results are the same for any number
/// of threads. Throws the first exception to the caller.
template <class Visit>
void for_each_in_threads(int64_t count, double terms, Visit&& visit) {
    std::exception_ptr thrown;
#pragma omp parallel if (count > 1 && terms >= kLeastTermsOfThreads)
    {
        std::vector<double> buffer;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < count; ++i) {
            try {
                visit(i, buffer);
            } catch (...) {
#pragma omp critical
                if (!thrown) thrown = std::current_exception();
            }
        }
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace diopi::reference
