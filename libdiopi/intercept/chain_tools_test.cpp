// The tests use all tools of the chain together.
#include <catch2/catch.hpp>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "intercept/autocompare.hpp"
#include "intercept/dump.hpp"
#include "intercept/fallback.hpp"
#include "intercept/overflow.hpp"
#include "intercept/sim_backend.hpp"
#include "intercept/testing.hpp"
#include "timing/timing_interceptor.hpp"

namespace diopi {

using namespace testing;

TEST_CASE("dump, comparison, fallback, timer and overflow check work on one chain", "[run][chain]") {
    SimOptions options;
    options.dtypes = {Dtype::float16};  // makes the call fall back
    SimBackend sim(std::move(options));
    auto here = Side::create(sim.backend()), against = Side::create(reference_backend()),
         other = Side::create(**find_backend("cpu"));
    REQUIRE((here.ok() && against.ok() && other.ok()));
    std::vector<std::string> dumped, overflown;
    int compares = 0, fallbacks = 0;
    const ToleranceTable tolerances;
    FallbackLists lists;
    Dump dump(DumpLevel::kValues, [&](const std::string& line) { dumped.push_back(line); });
    OverflowCheck overflow([&](const OverflowEvent& event) {
        if (event.figures.inf_or_nan > 0) overflown.push_back(event.place);
    });
    Autocompare compare(**against, tolerances,
                        [&](const ComparedCall& call) { compares += call.allclose() ? 1 : 100; });
    auto clock = ProfileClock::start((*here)->context());
    REQUIRE(clock.ok());
    TimingInterceptor timer(*clock);
    Fallback fallback(**other, lists, [&](const FallbackEvent&) { ++fallbacks; });
    Chain chain(sim.backend());
    for (Interceptor* tool : std::initializer_list<Interceptor*>{&dump, &overflow, &compare, &timer, &fallback, &sim}) {
        chain.add(*tool);
    }
    Call call = add_on(sim.device(), {std::numeric_limits<float>::infinity(), 2});
    const Outcome outcome = chain.run(call, (*here)->context());
    INFO(outcome.message);
    REQUIRE(outcome.ok());
    CHECK_THAT(dumped.back(), Catch::Matchers::Contains("out = [inf, 22]"));
    CHECK(compares == 1);
    CHECK(fallbacks == 1);
    CHECK(timer.collect()->size() == 1);
    CHECK(overflown == std::vector<std::string>{"out"});
}

}  // namespace diopi
