#include "kernels/cpu/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace diopi::cpu {

namespace {

Processor this_processor() {
#if defined(__x86_64__)
    unsigned version = 0, other = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd") && __get_cpuid(1, &version, &other, &other, &other) != 0) {
        const unsigned family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
        const unsigned model = (version >> 4 & 0xf) | (version >> 12 & 0xf0);
        const auto between = [&](unsigned first, unsigned last) { return model >= first && model <= last; };
        // Source of the models: Linux, arch/x86/kernel/cpu/amd.c.
        const bool is_zen4 = family == 0x19 && (between(0x10, 0x1f) || between(0x60, 0x7f) || between(0xa0, 0xaf));
        return {.reads_ahead = is_zen4, .has_quick_roots = is_zen4};
    }
#endif
    return {.reads_ahead = false, .has_quick_roots = false};
}

}  // namespace

const Processor processor = this_processor();

}  // namespace diopi::cpu
