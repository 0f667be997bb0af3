#include "replay/capture_cases.hpp"

#include <catch2/catch.hpp>

#include "backend/faulty_testing.hpp"
#include "backend/testing.hpp"
#include "cases/recorded_call.hpp"
#include "intercept/testing.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using namespace testing;

/// sum = a + b; a += sum, in place; sum = a + b again; c = d + d, of another shape.
Capture four_sums() {
    const auto constant = [](double x) { return Recipe{Recipe::Kind::kConstant, Dtype::float32, x, 0}; };
    const auto plain_alpha = [](Call& call) { call["alpha"] = Scalar::of(1.0); };
    Capture capture;
    capture.name = "sums";
    const size_t a = add_floats(capture, "a", 3, constant(1)), b = add_floats(capture, "b", 3, constant(2));
    const size_t sum = add_floats(capture, "sum", 3), c = add_floats(capture, "c", 5);
    const size_t d = add_floats(capture, "d", 5, constant(7));
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", sum}, {"input", a}, {"other", b}}, plain_alpha);
    add_call(capture, "add_.Tensor", "diopiAddInp", {{"input", a}, {"other", sum}}, plain_alpha);
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", sum}, {"input", a}, {"other", b}}, plain_alpha);
    add_call(capture, "add.Tensor", "diopiAdd", {{"out", c}, {"input", d}, {"other", d}}, plain_alpha);
    return capture;
}

std::vector<Case> cases_of(const Capture& capture) {
    CaptureValues values;
    auto replay = CaptureReplay::create(capture, values, 0);
    REQUIRE(replay.ok());
    auto cases = capture_cases(capture, *replay);
    REQUIRE(cases.ok());
    return std::move(*cases);
}

float first_of(const Case& c, std::string_view arg) { return c.recorded->call.tensor(arg)->data_as<float>()[0]; }

diopiError_t add_nothing(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, const diopiScalar_t*) {
    return diopiSuccess;
}

}  // namespace

TEST_CASE("each call of a capture that differs from those before it is a case, with its number", "[run][capture]") {
    const std::vector<Case> cases = cases_of(four_sums());
    REQUIRE(cases.size() == 3);
    CHECK(cases[0].id() == "sums/add.0");
    CHECK(cases[1].id() == "sums/add.1");
    CHECK(cases[2].id() == "sums/add.3");
    const CaseResult described = describe(cases[2]);
    CHECK(described.suite == "sums");
    REQUIRE(described.tensors.size() == 2);
    CHECK(described.tensors[0].name == "input");
    CHECK(described.tensors[0].shape == Shape{5});
}

TEST_CASE("a case of a capture has the inputs that the call had before it ran", "[run][capture]") {
    const std::vector<Case> cases = cases_of(four_sums());
    CHECK(first_of(cases[0], "input") == 1);
    CHECK(first_of(cases[1], "input") == 1);
    CHECK(first_of(cases[1], "other") == 3);
    // One tensor twice stays one tensor.
    CHECK(cases[2].recorded->call.tensor("input") == cases[2].recorded->call.tensor("other"));
}

TEST_CASE("cases of a capture run as the step that their functions are, and are judged", "[run][capture]") {
    const std::vector<Case> cases = cases_of(four_sums());
    const FaultyBackend faulty({{"diopiAddInp", any_function(&add_nothing)}});
    CaseOptions options;
    for (const Backend* backend : {&cpu(), &faulty.backend()}) {
        options.backend = backend;
        const CaseResult plain = run_case(cases[0], options), in_place = run_case(cases[1], options);
        CHECK(plain.verdict == Verdict::kPassed);
        REQUIRE(in_place.steps.size() == 1);
        CHECK(in_place.steps[0].step == "inplace");
        CHECK(in_place.steps[0].function == "add_inp");
        CHECK(in_place.verdict == (backend == &cpu() ? Verdict::kPassed : Verdict::kFailed));
    }
    options.steps = {"forward"};
    CHECK(run_case(cases[1], options).verdict == Verdict::kSkipped);
}

}  // namespace diopi
