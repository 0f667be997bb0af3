#include "kernels/cpu/read_ahead.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace diopi::cpu {

namespace {

/// Models of family 19h. Source: Linux, arch/x86/kernel/cpu/amd.c.
bool is_zen4() {
#if defined(__x86_64__)
    unsigned version = 0, other = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_is("amd") || __get_cpuid(1, &version, &other, &other, &other) == 0) return false;
    const unsigned family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    const unsigned model = (version >> 4 & 0xf) | (version >> 12 & 0xf0);
    const auto between = [&](unsigned first, unsigned last) { return model >= first && model <= last; };
    return family == 0x19 && (between(0x10, 0x1f) || between(0x60, 0x7f) || between(0xa0, 0xaf));
#else
    return false;
#endif
}

}  // namespace

const bool reads_ahead = !is_zen4();

}  // namespace diopi::cpu
