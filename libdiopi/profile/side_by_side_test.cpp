#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "profile/profile_baseline.hpp"
#include "profile/profile_testing.hpp"

using namespace diopi;
using testing::add_case;

namespace {

diopiError_t sleep_for(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return diopiSuccess;
}
diopiError_t slow_add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                      const diopiScalar_t*) {
    return sleep_for(4);
}
diopiError_t fast_add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                      const diopiScalar_t*) {
    return sleep_for(2);
}
diopiError_t crash_in_add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                          const diopiScalar_t*) {
    raise(SIGKILL);
    return diopiSuccess;
}

ProfilePair profile_against(diopiError_t (*other)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                                                  diopiConstTensorHandle_t, const diopiScalar_t*)) {
    ProfileOptions options = testing::quick_profile();
    const testing::FaultyBackend own({{"diopiAdd", testing::any_function(slow_add)}});
    const testing::FaultyBackend against({{"diopiAdd", testing::any_function(other)}});
    options.backend = &own.backend();
    options.passes = 4;
    auto pair = profile_side_by_side({add_case({4})}, options, against.backend());
    REQUIRE(pair.ok());
    REQUIRE(pair->against);
    return std::move(*pair);
}

}  // namespace

TEST_CASE("two implementations are measured by turns and compared", "[profile]") {
    const ProfilePair pair = profile_against(fast_add);
    const std::vector<TimedRun>& own = pair.own.calls[0].runs;
    const std::vector<TimedRun>& against = pair.against->calls[0].runs;
    for (int64_t pass = 0; pass < 4; ++pass) {
        const auto is_of_pass = [&](const TimedRun& run) { return run.pass == pass; };
        const auto begin = std::ranges::find_if(own, is_of_pass), other = std::ranges::find_if(against, is_of_pass);
        REQUIRE(begin != own.end());
        REQUIRE(other != against.end());
        CHECK(begin->start < other->start);
        const auto next = std::ranges::find(own, pass + 1, &TimedRun::pass);
        if (next != own.end()) CHECK(other->start < next->start);
    }
    const ProfileComparison comparison = compare_side_by_side(pair.own, *pair.against);
    CHECK(comparison.compared == 1);
    CHECK(comparison.slower == 1);
    REQUIRE(comparison.calls[0]);
    CHECK(comparison.calls[0]->ratio.value > 1.5);
    CHECK(comparison.calls[0]->ratio.value < 2.5);
    CHECK(comparison.calls[0]->base > 2e-3);
    CHECK(comparison.geometric_mean == Approx(comparison.calls[0]->ratio.value));
    CHECK(comparison.empty_call > 0);
    CHECK(pair.own.roofs.empty_call == 0);
}

TEST_CASE("a crash of the other implementation costs only its own time", "[profile]") {
    const ProfilePair pair = profile_against(crash_in_add);
    CHECK(pair.own.calls[0].error.empty());
    CHECK(pair.own.calls[0].runs.size() > 10);
    CHECK_THAT(pair.against->calls[0].error, Catch::Matchers::Contains("SIGKILL"));
    const ProfileComparison comparison = compare_side_by_side(pair.own, *pair.against);
    CHECK(comparison.compared == 0);
    CHECK(comparison.unknown == 1);
    CHECK(comparison.error == pair.against->calls[0].error);
}

TEST_CASE("a function that the other implementation has not is measured alone", "[profile]") {
    const ProfilePair pair = profile_against(nullptr);
    CHECK(pair.own.calls[0].runs.size() > 10);
    CHECK(pair.against->calls[0].error == "not implemented");
    CHECK(compare_side_by_side(pair.own, *pair.against).unknown == 1);
}
