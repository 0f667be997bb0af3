#include "profile/schedule.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

std::string actions(std::string_view text) {
    const auto schedule = Schedule::parse(text);
    REQUIRE(schedule.ok());
    std::string letters;
    for (int64_t i = 0; i < schedule->iterations(); ++i) {
        const Schedule::Action action = schedule->action(i);
        letters += action == Schedule::Action::kIgnore ? '.' : action == Schedule::Action::kWarmup ? 'w' : 'A';
    }
    return letters;
}

std::string schedule_refusal(std::string_view text) {
    const auto schedule = Schedule::parse(text);
    REQUIRE_FALSE(schedule.ok());
    CHECK(schedule.error().code == Errc::kBadInput);
    return schedule.error().message;
}

}  // namespace

TEST_CASE("a schedule skips, waits, warms up and records, as often as it repeats") {
    CHECK(actions("active=3") == "AAA");
    CHECK(actions("skip_first=2,wait=1,warmup=1,active=2,repeat=2") == "...wAA.wAA");
    CHECK(actions("repeat=3,warmup=1") == "wAwAwA");
}

TEST_CASE("an invalid schedule is refused, with the valid form") {
    CHECK(schedule_refusal("active").find("'active' has no number") != std::string::npos);
    CHECK(schedule_refusal("activ=2").find("did you mean 'active'") != std::string::npos);
    CHECK(schedule_refusal("wait=-1").find("no number from 0 to 1000000") != std::string::npos);
    CHECK(schedule_refusal("wait=1x").find("write skip_first=0") != std::string::npos);
    CHECK(schedule_refusal("active=0").find("records nothing") != std::string::npos);
    CHECK(schedule_refusal("repeat=0").find("records nothing") != std::string::npos);
    CHECK(schedule_refusal("active=1000000,repeat=1000000").find("more than 1000000 iterations") != std::string::npos);
    CHECK(schedule_refusal("").find("has no number") != std::string::npos);
}
