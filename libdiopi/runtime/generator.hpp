/// The generator behind diopiGeneratorHandle_t: seed and offset of a Philox sequence.
#pragma once

#include <cstdint>

/// Operators draw from counter `offset` on and advance it, so that equal states give equal numbers everywhere.
struct diopiGenerator {
    uint64_t seed = 0;
    uint64_t offset = 0;
};

namespace diopi {
using Generator = ::diopiGenerator;
}
