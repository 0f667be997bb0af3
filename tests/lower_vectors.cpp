/// Loaded before a program by LD_PRELOAD, this library lets Highway choose among lower instruction sets only, as on an
/// older processor: those of LOWER_VECTORS, avx2 or sse4.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

const struct Lower {
    Lower() {
        const char* asked = std::getenv("LOWER_VECTORS");
        const std::string_view best = asked == nullptr ? "" : asked;
        const int64_t above_avx2 = HWY_AVX3 | HWY_AVX3_DL;
        const int64_t disabled = best == "avx2" ? above_avx2 : best == "sse4" ? above_avx2 | HWY_AVX2 : 0;
        hwy::DisableTargets(disabled);
        if (disabled != 0 && (hwy::SupportedTargets() & disabled) == 0) return;
        std::fputs("lower_vectors: LOWER_VECTORS is not avx2 or sse4, or the sets above it are this build's least\n",
                   stderr);
        std::abort();
    }
} kLower;

}  // namespace
