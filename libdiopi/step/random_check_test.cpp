#include "step/random_check.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "core/philox.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
enum class UniformFault { kNone, kShortSeed, kShortOffset, kOtherSeed, kShortAdvance, kWholeFours };

/// Draws number `offset + i` of the seed for element i.
template <UniformFault kFault>
diopiError_t uniform_with(diopiContextHandle_t, diopiTensorHandle_t inout, double from, double to,
                          diopiGeneratorHandle_t generator) {
    constexpr uint64_t kLow = 0xffffffff;
    if (inout->dtype != Dtype::float32) return diopiDtypeNotSupported;
    const uint64_t seed = kFault == UniformFault::kShortSeed ? generator->seed & kLow : generator->seed;
    const uint64_t offset = kFault == UniformFault::kShortOffset ? generator->offset & kLow : generator->offset;
    const auto n = static_cast<uint64_t>(inout->numel());
    for (uint64_t i = 0; i < n; ++i) {
        const auto words = philox(seed, offset + i, 0);
        inout->data_as<float>()[i] = static_cast<float>(from + (to - from) * std::ldexp(words[0] >> 9, -23));
    }
    generator->offset += kFault == UniformFault::kShortAdvance ? 4
                         : kFault == UniformFault::kWholeFours ? n / 4 * 4
                                                               : n;
    if (kFault == UniformFault::kOtherSeed) ++generator->seed;
    return diopiSuccess;
}

/// The reasons of a few hard cases that fail.
template <UniformFault kFault>
std::string reasons(int64_t numel = 5'000) {
    const testing::FaultyBackend faulty({{"diopiUniformInp", testing::any_function(uniform_with<kFault>)}});
    CaseOptions options;
    options.backend = &faulty.backend();
    Case c = testing::make_case("uniform", {testing::case_tensor("input", {numel})},
                                {{"start", Param{-2.0}}, {"end", Param{3.0}}});
    c.suite = kHardSuite;
    c.random = true;
    std::string text;
    for (c.index = 0; c.index < 12; ++c.index) {
        const CaseResult result = run_case(c, options);
        text += result.reason + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("the whole state of a generator counts, and its offset advances far enough", "[step][random]") {
    CHECK(reasons<UniformFault::kNone>().find_first_not_of('\n') == std::string::npos);
    CHECK_THAT(reasons<UniformFault::kShortSeed>(), Contains("a generator with another seed gave the same numbers"));
    CHECK_THAT(reasons<UniformFault::kShortOffset>(),
               Contains("a generator with another offset gave the same numbers"));
    CHECK_THAT(reasons<UniformFault::kOtherSeed>(), Contains("the generator has another seed after the call"));
    CHECK_THAT(reasons<UniformFault::kShortAdvance>(), Contains("did not advance far enough"));
    CHECK_THAT(reasons<UniformFault::kWholeFours>(3), Contains("the generator's state did not advance: "));
    CHECK(reasons<UniformFault::kNone>(3).find_first_not_of('\n') == std::string::npos);
}

}  // namespace diopi
