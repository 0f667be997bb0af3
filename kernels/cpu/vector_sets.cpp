#include <hwy/targets.h>

#include "core/instruction_sets.hpp"

namespace diopi::cpu {

namespace {

/// Makes Highway's loops choose as all others do, where the environment allows less than the processor has.
[[maybe_unused]] const struct SameSets {
    SameSets() {
#if defined(__x86_64__)
        constexpr int64_t kAboveAvx2 = HWY_AVX3 | HWY_AVX3_DL;
        if (instruction_set() == InstructionSet::avx512) return;
        const int64_t above = instruction_set() == InstructionSet::avx2 ? kAboveAvx2 : kAboveAvx2 | HWY_AVX2;
        hwy::DisableTargets(above & ~int64_t{HWY_BASELINE_TARGETS});
#endif
    }
} kSameSets;

}  // namespace

}  // namespace diopi::cpu
