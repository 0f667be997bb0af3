#include "core/instruction_sets.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/text.hpp"

namespace diopi {

namespace {

/// Processors with FMA and BMI2 have F16C and LZCNT, for which clang has no names here.
InstructionSet processors() {
#if defined(__x86_64__)
    __builtin_cpu_init();  // objects made before main() ask, too
    const auto has_avx2 = [] {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2");
    };
    const auto has_avx512 = [] {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd");
    };
    if (has_avx2()) return has_avx512() ? InstructionSet::avx512 : InstructionSet::avx2;
#endif
    return InstructionSet::baseline;
}

/// The best set that the environment allows. Other values set no limit, as in oneDNN.
InstructionSet allowed() {
    const char* set = std::getenv("ONEDNN_MAX_CPU_ISA");
    if (set == nullptr) set = std::getenv("DNNL_MAX_CPU_ISA");
    const std::string name = lower_case(set == nullptr ? "" : set);
    if (name == "sse41" || name == "avx") return InstructionSet::baseline;
    return name.starts_with("avx2") ? InstructionSet::avx2 : InstructionSet::avx512;
}

}  // namespace

InstructionSet instruction_set() {
    static const InstructionSet kBest = std::min(processors(), allowed());
    return kBest;
}

}  // namespace diopi
