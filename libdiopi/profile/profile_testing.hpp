/// For tests: cases to profile, and options that make it short.
#pragma once

#include <omp.h>

#include "profile/profile.hpp"

namespace diopi::testing {

/// add of two float32 tensors.
inline Case add_case(const Shape& shape) {
    Case c;
    c.suite = "test";
    c.group = "profile";
    c.op = "add";
    c.inplace = true;
    for (const char* name : {"input", "other"}) {
        CaseTensor& tensor = c.tensors.emplace_back();
        tensor.name = name;
        tensor.specs = {{shape, Dtype::float32, {}}};
    }
    return c;
}

/// Workers are forked from this process, and would wait for threads that it may have; so there is one thread.
inline ProfileOptions quick_profile() {
    omp_set_num_threads(1);
    ProfileOptions options;
    options.backend = backends().front();
    options.roofs = false;
    options.probe = [](Crowding::Of) { return 30e-6; };
    options.timing.max_seconds = 0.2;
    options.timing.max_warmup_seconds = 0.02;
    return options;
}

}  // namespace diopi::testing
