#include <hwy/targets.h>

#include <catch2/catch.hpp>

#include "core/instruction_sets.hpp"

using namespace diopi;

TEST_CASE("Highway chooses no instruction set above that of the other loops", "[vectors]") {
#if defined(__x86_64__)
    const auto may_choose = [](int64_t sets) { return (hwy::SupportedTargets() & sets & ~HWY_BASELINE_TARGETS) != 0; };
    CHECK(may_choose(HWY_AVX3 | HWY_AVX3_DL) == (instruction_set() == InstructionSet::avx512));
    if (instruction_set() == InstructionSet::baseline) CHECK_FALSE(may_choose(HWY_AVX2));
#endif
}
