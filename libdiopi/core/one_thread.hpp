/// One thread for a while: a process that forks workers must have started no others, and small work is quicker.
#pragma once

#include <omp.h>

namespace diopi {

/// While it lives, this thread starts no others: OpenMP, and so oneDNN, uses it alone.
class OneThread {
 public:
    OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(before_); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

 private:
    int before_;
};

}  // namespace diopi
