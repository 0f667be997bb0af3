#include "replay/fallback_run.hpp"

#include <catch2/catch.hpp>

#include "backend/faulty_testing.hpp"
#include "core/stopwatch.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;

/// sum = a + b, product = sum * b, last = product - b, c = convex_iou(product, b), which no backend implements.
Capture four_calls() {
    Capture capture;
    capture.name = "four";
    const Recipe one{Recipe::Kind::kUniform, Dtype::float32, 1, 2};
    const size_t a = add_floats(capture, "a", 1000, one), b = add_floats(capture, "b", 1000, one);
    const size_t sum = add_floats(capture, "sum", 1000), product = add_floats(capture, "product", 1000);
    const size_t c = add_floats(capture, "c", 1000), last = add_floats(capture, "last", 1000);
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", sum}, {"input", a}, {"other", b}},
             [](Call& call) { call["alpha"] = Scalar::of(1.0); });
    add_call(capture, "mul.Tensor", "diopiMul", {{"out", product}, {"input", sum}, {"other", b}}, [](Call&) {});
    add_call(capture, "sub.Tensor", "diopiSub", {{"out", last}, {"input", product}, {"other", b}},
             [](Call& call) { call["alpha"] = Scalar::of(1.0); });
    add_call(capture, "convex_iou", "diopiConvexIouMmcv", {{"ious", c}, {"pointsets", product}, {"polygons", b}},
             [](Call&) {});
    return capture;
}

diopiError_t mul_gives_7(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t,
                         diopiConstTensorHandle_t) {
    for (int64_t i = 0; i < out->numel(); ++i) out->data_as<float>()[i] = 7;
    return diopiSuccess;
}

struct Simulated {
    explicit Simulated(const Backend& backend, SimBackend* sim, const char* ops) : capture(four_calls()) {
        auto replay = CaptureReplay::create(capture, values, 0);
        REQUIRE(replay.ok());
        FallbackLists lists;
        if (ops != nullptr) lists.only = std::move(*NameList::parse(ops));
        FallbackRunOptions options;
        options.backend = &backend;
        options.sim = sim;
        options.other = *find_backend("cpu");
        auto made = simulate_fallback(*replay, capture, lists, options);
        REQUIRE(made.ok());
        report = std::move(*made);
    }

    Capture capture;
    CaptureValues values;
    FallbackRecord report;
};

}  // namespace

TEST_CASE("copies and times of each operator that falls back are counted for one step", "[run][fallback]") {
    SimBackend sim{SimOptions()};
    const FallbackRecord report = Simulated(sim.backend(), &sim, "add.*").report;
    REQUIRE(report.rows.size() == 1);
    CHECK(report.rows[0].overload == "add.Tensor");
    CHECK(report.rows[0].reason == FallbackReason::kForced);
    CHECK(report.rows[0].calls == 1);
    CHECK(report.rows[0].in.copies == 2);
    CHECK(report.rows[0].in.nbytes == 8000);
    CHECK(report.rows[0].out.nbytes == 4000);
    const SimModel model;
    CHECK(report.rows[0].in.seconds == Approx(2 * (model.copy_latency_s + 4000 / model.copy_bytes_per_s)));
    CHECK(report.rows[0].device_seconds >= model.launch_s);
    CHECK(report.rows[0].other_seconds > 0);
    CHECK(report.calls == 4);
    CHECK(report.missing == std::map<std::string, int64_t>{{"convex_iou", 1}});
    CHECK(report.changed.empty());
}

TEST_CASE("a step with copies takes longer than one without", "[run][fallback]") {
    SimOptions options;
    options.model.copy_latency_s = 10e-3;
    SimBackend sim(std::move(options));
    const FallbackRecord report = Simulated(sim.backend(), &sim, "add.*").report;
    // The made-up output of an unimplemented call needs one copy.
    CHECK(report.step_seconds == Approx(10e-3).epsilon(0.1));
    CHECK(report.step_seconds_with == Approx(40e-3).epsilon(0.1));
}

TEST_CASE("the predicted time of a step is that of a device which really waits", "[run][fallback]") {
    SimOptions options;
    options.model.copy_latency_s = 5e-3;
    options.model.launch_s = 10e-3;
    options.model.waits = true;
    SimBackend sim(std::move(options));
    const Stopwatch watch;
    const FallbackRecord report = Simulated(sim.backend(), &sim, "add.*").report;
    const double real = watch.seconds();
    // There are five steps of each kind, and the copies of their initial values and results.
    const double predicted = 5 * (report.step_seconds + report.step_seconds_with);
    CHECK(real > predicted);
    CHECK(predicted > 5 * (3 * 10e-3 + 2 * 10e-3 + 3 * 5e-3) * 0.99);
}

TEST_CASE("an operator that the device lacks falls back in both steps", "[run][fallback]") {
    SimOptions options;
    options.except = std::move(*NameList::parse("mul"));
    SimBackend sim(std::move(options));
    const FallbackRecord report = Simulated(sim.backend(), &sim, nullptr).report;
    REQUIRE(report.rows.size() == 1);
    CHECK(report.rows[0].overload == "mul.Tensor");
    CHECK(report.rows[0].reason == FallbackReason::kNotImplemented);
}

TEST_CASE("results that the fallback changes are named", "[run][fallback]") {
    const FaultyBackend faulty({{"diopiMul", any_function(&mul_gives_7)}});
    CHECK(Simulated(faulty.backend(), nullptr, "add.*").report.changed.empty());
    const FallbackRecord report = Simulated(faulty.backend(), nullptr, "mul.*").report;
    CHECK(report.results == 2);
    REQUIRE(report.changed.size() == 1);
    CHECK(report.changed[0].tensor == "tlast");
    CHECK_FALSE(report.changed[0].within);
}

}  // namespace diopi
