#include "kernels/cpu/instruction_sets.hpp"

#include <hwy/targets.h>

namespace diopi::cpu {

namespace {

InstructionSet detect() {
#if defined(__x86_64__)
    const int64_t sets = hwy::SupportedTargets();
    if ((sets & HWY_AVX3) != 0) return InstructionSet::avx512;
    if ((sets & HWY_AVX2) != 0) return InstructionSet::avx2;
#endif
    return InstructionSet::baseline;
}

}  // namespace

InstructionSet instruction_set() {
    static const InstructionSet kBest = detect();  // in a virtual machine the question takes 70 us
    return kBest;
}

}  // namespace diopi::cpu
