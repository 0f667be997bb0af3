#include "intercept/sim_backend.hpp"

#include <catch2/catch.hpp>

#include "intercept/call_copy.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;

NameList names_of(std::string_view text) { return std::move(*NameList::parse(text)); }

Outcome added_on(SimBackend& sim) {
    auto side = Side::create(sim.backend());
    REQUIRE(side.ok());
    Call call(*find_row("diopiAdd"));
    call["out"] = floats_on(sim.device(), {0, 0});
    call["input"] = floats_on(sim.device(), {1, 2});
    call["other"] = floats_on(sim.device(), {10, 20});
    call["alpha"] = Scalar::of(1.0);
    Chain chain(sim.backend());
    chain.add(sim);
    Outcome outcome = chain.run(call, (*side)->context());
    if (outcome.ok()) CHECK(floats_of((*side)->context(), *call.tensor("out")) == std::vector<float>{11, 22});
    return outcome;
}

}  // namespace

TEST_CASE("a simulated device runs the kernels of the cpu and counts their time", "[intercept][sim]") {
    SimOptions options;
    options.model.launch_s = 1;
    options.model.copy_latency_s = 0;
    SimBackend sim(std::move(options));
    CHECK(added_on(sim).ok());
    CHECK(sim.device().now() > 1);
    CHECK(sim.device().now() < 1.5);
}

TEST_CASE("a simulated device has no function that it does not list, or excludes", "[intercept][sim]") {
    SimOptions options;
    options.operators = names_of("mul,conv2d,nonsense");
    SimBackend without(std::move(options));
    CHECK(added_on(without).error == diopiNoImplement);
    CHECK(without.unknown_names() == std::vector<std::string>{"nonsense"});

    SimOptions others;
    others.except = names_of("add");
    SimBackend excluding(std::move(others));
    CHECK(added_on(excluding).error == diopiNoImplement);
    CHECK(excluding.backend().implements(*find_row("diopiMul")));
}

TEST_CASE("a simulated device declines a dtype that it lacks", "[intercept][sim]") {
    SimOptions options;
    options.dtypes = {Dtype::float16};
    SimBackend sim(std::move(options));
    const Outcome outcome = added_on(sim);
    CHECK(outcome.error == diopiDtypeNotSupported);
    CHECK_THAT(outcome.message, Catch::Matchers::Contains("float32"));
}

TEST_CASE("a simulated device declines a tensor that is not contiguous", "[intercept][sim]") {
    SimOptions options;
    options.contiguous = true;
    SimBackend sim(std::move(options));
    CHECK(added_on(sim).ok());
    auto side = Side::create(sim.backend());
    REQUIRE(side.ok());
    Call call(*find_row("diopiNeg"));
    call["out"] = floats_on(sim.device(), {0, 0});
    TensorPtr strided = floats_on(sim.device(), {1, 2, 3});
    strided->shape = {2};
    strided->strides = {2};
    call["input"] = strided;
    Chain chain(sim.backend());
    chain.add(sim);
    const Outcome outcome = chain.run(call, (*side)->context());
    CHECK(outcome.error == diopiNoImplement);
    CHECK_THAT(outcome.message, Catch::Matchers::Contains("input has strides (2,)"));
}

TEST_CASE("a simulated device that converts accepts every tensor for casts and copies", "[intercept][sim]") {
    for (const bool converts : {false, true}) {
        SimOptions options;
        options.dtypes = {Dtype::float64};
        options.converts = converts;
        SimBackend sim(std::move(options));
        auto side = Side::create(sim.backend());
        REQUIRE(side.ok());
        Call call(*find_row("diopiCopyInp"));
        call["src"] = floats_on(sim.device(), {1, 2});
        call["dest"] = floats_on(sim.device(), {0, 0});
        Chain chain(sim.backend());
        chain.add(sim);
        CHECK(chain.run(call, (*side)->context()).ok() == converts);
        CHECK(added_on(sim).error == diopiDtypeNotSupported);
    }
}

}  // namespace diopi
