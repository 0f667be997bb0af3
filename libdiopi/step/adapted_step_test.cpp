/// Cases under an adaptor: their bounds are those of the dtypes that compute them.
#include "step/adapted_step.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "intercept/adaptor/adaptor_config.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::any_function;
using testing::case_tensor;
using testing::FaultyBackend;
using testing::make_case;

Case case_of(std::string op, Dtype dtype, std::initializer_list<const char*> tensors) {
    std::vector<CaseTensor> made;
    for (const char* name : tensors) {
        made.push_back(case_tensor(name, {4, 33}));
        made.back().specs.front().dtype = dtype;
    }
    return make_case(op, std::move(made));
}

AdaptorRules rules_from(const char* text) {
    auto config = adaptor_config_from(text, "chip.json");
    REQUIRE(config.ok());
    return std::move(config->rules);
}

CaseResult run_adapted(const Case& c, const Backend& backend, const char* config) {
    Adaptor adaptor(rules_from(config));
    CaseOptions options;
    options.backend = &backend;
    options.adaptor = &adaptor;
    return run_case(c, options);
}

constexpr const char* kNarrow = R"({"common": {"dtype": "default"}})";

/// exp with an error of about `ulps` of float32.
template <int ulps>
diopiError_t exp_off(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    for (int64_t i = 0; i < input->numel(); ++i) {
        const double exact = std::exp(static_cast<double>(input->data_as<float>()[i]));
        out->data_as<float>()[i] = static_cast<float>(exact * (1 + ulps * 0x1p-23));
    }
    return diopiSuccess;
}

/// Casts float64 to float32 towards zero, and back exactly.
diopiError_t truncating_cast(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    for (int64_t i = 0; i < input->numel(); ++i) {
        if (out->dtype == Dtype::float64) {
            out->data_as<double>()[i] = static_cast<double>(input->data_as<float>()[i]);
            continue;
        }
        const double exact = input->data_as<double>()[i];
        const auto rounded = static_cast<float>(exact);
        const bool is_too_large = std::fabs(static_cast<double>(rounded)) > std::fabs(exact);
        out->data_as<float>()[i] = is_too_large ? std::nextafter(rounded, 0.0f) : rounded;
    }
    return diopiSuccess;
}

/// A sum over all elements in int32, like on a device without int64.
diopiError_t sum_in_int32(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t) {
    if (input->dtype != Dtype::int32) return diopiDtypeNotSupported;
    uint32_t sum = 0;
    for (int64_t i = 0; i < input->numel(); ++i) sum += static_cast<uint32_t>(input->data_as<int32_t>()[i]);
    out->data_as<int32_t>()[0] = static_cast<int32_t>(sum);
    return diopiSuccess;
}

}  // namespace

TEST_CASE("results computed in float32 have the tolerance of float32", "[run][adaptor]") {
    const Case c = case_of("exp", Dtype::float64, {"input"});
    const FaultyBackend good({{"diopiExp", any_function(&exp_off<0>)}});
    const CaseResult passed = run_adapted(c, good.backend(), kNarrow);
    CHECK(passed.reason.empty());
    CHECK(passed.verdict == Verdict::kPassed);
    const AdaptedCalls& adapted = passed.steps.front().adapted;
    CHECK(adapted.calls == 1);
    CHECK(adapted.conversions == 2);
    CHECK(adapted.casts == std::vector<std::string>{"float64 in float32"});
    // Without the adaptor the same function declines.
    CHECK(run_adapted(c, good.backend(), "{}").verdict == Verdict::kNotImplemented);
}

TEST_CASE("on a device with wrong casts the calls that need casts fail", "[run][adaptor]") {
    const Case c = case_of("neg", Dtype::float64, {"input"});
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    const FaultyBackend truncating({{"diopiCastDtype", any_function(&truncating_cast)}});
    CHECK(run_adapted(c, truncating.backend(), kNarrow).verdict == Verdict::kFailed);
}

TEST_CASE("results computed in float32 have at most the tolerance of float32", "[run][adaptor]") {
    const Case c = case_of("exp", Dtype::float64, {"input"});
    const FaultyBackend bad({{"diopiExp", any_function(&exp_off<6>)}});
    const CaseResult failed = run_adapted(c, bad.backend(), kNarrow);
    CHECK(failed.verdict == Verdict::kFailed);
    CHECK(failed.kind == FailureKind::kValues);
}

TEST_CASE("float64 that is not narrowed has the tolerance of float64", "[run][adaptor]") {
    const Case c = case_of("exp", Dtype::float64, {"input"});
    const char* layout_alone = R"({"common": {"layout": "ND", "contiguous": true}})";
    CHECK(run_adapted(c, **find_backend("cpu"), layout_alone).verdict == Verdict::kPassed);
    const FaultyBackend rough(
        {{"diopiExp", any_function(+[](diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
              for (int64_t i = 0; i < input->numel(); ++i) {
                  const auto value = static_cast<float>(input->data_as<double>()[i]);
                  out->data_as<double>()[i] = std::exp(value);
              }
              return diopiSuccess;
          })}});
    CHECK(run_adapted(c, rough.backend(), layout_alone).verdict == Verdict::kFailed);
}

TEST_CASE("integers that the device's dtype cannot hold are skipped with a reason, or declined", "[run][adaptor]") {
    const FaultyBackend device({{"diopiSum", any_function(&sum_in_int32)}});
    Case c = case_of("sum", Dtype::int64, {"input"});
    c.tensors.front().fill = {};
    c.tensors.front().fill.fn = Fill::kRandint;
    c.tensors.front().fill.low = 0;
    c.tensors.front().fill.high = 100;
    CHECK(run_adapted(c, device.backend(), kNarrow).verdict == Verdict::kPassed);
    c.tensors.front().fill.low = 1e9;
    c.tensors.front().fill.high = 2e9;
    const CaseResult skipped = run_adapted(c, device.backend(), kNarrow);
    CHECK(skipped.verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.reason, Contains("out is expected to hold") && Contains("computed in int32"));
    c.op = "neg";
    c.tensors.front().fill.low = 3e9;
    c.tensors.front().fill.high = 4e9;
    const CaseResult declined = run_adapted(c, **find_backend("cpu"), R"({"ops": {"neg": {"args":
        {"input": {"dtype": "default"}}}}})");
    CHECK(declined.verdict == Verdict::kNotImplemented);
    CHECK_THAT(declined.reason, Contains("declined: adaptor: diopiNeg: input, int64 (4, 33), holds 3"));
    // Beside bfloat16, 2^63 - 1024 is 2^63, which no int64 holds.
    Case promoted = case_of("ne", Dtype::bfloat16, {"input", "other"});
    promoted.tensors.back().specs.front().dtype = Dtype::int64;
    promoted.tensors.back().specs.front().shape = {1};
    promoted.tensors.back().fill = {Fill::kValue};
    promoted.tensors.back().values = {0x1p63 - 1024};
    const CaseResult beyond = run_adapted(promoted, **find_backend("cpu"), kNarrow);
    CHECK(beyond.verdict == Verdict::kNotImplemented);
    CHECK_THAT(beyond.reason, Contains("other, int64 (1,), holds 9.22"));
}

TEST_CASE("products of three factors that exceed the adaptor's dtype are skipped with a reason", "[run][adaptor]") {
    Case c = case_of("addcmul", Dtype::float64, {"input", "tensor1", "tensor2"});
    c.params = {{"value", Param{2.0}}};
    c.tensors[1].fill = {Fill::kUniform, -1.8e38, -1.75e38};
    c.tensors[2].fill = {Fill::kUniform, 1e-99, 2e-99};
    const CaseResult skipped = run_adapted(c, **find_backend("cpu"), kNarrow);
    CHECK(skipped.verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.reason, Contains("exceed the range"));
    // Two factors cannot overflow on the way.
    c.params = {{"value", Param{1.0}}};
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    // Nothing is lost.
    c.params = {{"value", Param{2.0}}};
    c.tensors[1].fill = c.tensors[2].fill = {Fill::kUniform, -1.8e18, 1.75e18};
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
}

TEST_CASE("a convolution of inputs that become infinite is skipped with a reason", "[run][adaptor]") {
    Case c = case_of("conv2d", Dtype::float64, {"input", "weight"});
    c.tensors[0].specs.front().shape = {1, 1, 3, 3};
    c.tensors[1].specs.front().shape = {1, 1, 3, 3};
    c.params = {{"padding", Param{int64_t{1}}}};
    c.tensors[0].fill = {Fill::kUniform, 1e-99, 2e-99};
    // Inputs that become 0 are judged.
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    c.tensors[0].fill = {Fill::kUniform, 1e99, 2e99};
    const CaseResult skipped = run_adapted(c, **find_backend("cpu"), kNarrow);
    CHECK(skipped.verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.reason, Contains("some become infinite"));
}

TEST_CASE("a norm whose statistics become infinite is skipped with a reason", "[run][adaptor]") {
    Case c = case_of("batch_norm_elemt", Dtype::float64, {"input", "mean", "invstd"});
    for (CaseTensor& statistic : std::span(c.tensors).subspan(1)) statistic.specs.front().shape = {33};
    // Infinite elements of the input are judged.
    c.tensors[0].fill = {Fill::kUniform, 1e99, 2e99};
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    c.tensors[1].fill = {Fill::kUniform, 1e99, 2e99};
    const CaseResult skipped = run_adapted(c, **find_backend("cpu"), kNarrow);
    CHECK(skipped.verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.reason, Contains("statistics or parameters become infinite"));
}

TEST_CASE("a gradient of sums whose inputs become infinite is skipped with a reason", "[run][adaptor]") {
    Case c = case_of("mse_loss", Dtype::float64, {"input", "target"});
    c.tensors[0].requires_grad = c.backward = true;
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    c.tensors[0].fill = c.tensors[1].fill = {Fill::kUniform, 1e99, 2e99};
    const CaseResult skipped = run_adapted(c, **find_backend("cpu"), kNarrow);
    REQUIRE(skipped.steps.size() == 2);
    CHECK(skipped.steps[0].verdict == Verdict::kPassed);
    CHECK(skipped.steps[1].verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.steps[1].reason, Contains("whether a gradient is then NaN"));
}

TEST_CASE("a result whose size depends on values that change is skipped with a reason", "[run][adaptor]") {
    Case c = case_of("nonzero", Dtype::float64, {"input"});
    c.tensors.front().fill = {Fill::kUniform, 1, 2};
    CHECK(run_adapted(c, **find_backend("cpu"), kNarrow).verdict == Verdict::kPassed);
    c.tensors.front().fill = {Fill::kUniform, 1e-99, 2e-99};
    const CaseResult skipped = run_adapted(c, **find_backend("cpu"), kNarrow);
    CHECK(skipped.verdict == Verdict::kSkipped);
    CHECK_THAT(skipped.reason, Contains("the shape of out depends on values"));
}

TEST_CASE("the lowest number of a dtype that the device does not have is skipped with a reason", "[run][adaptor]") {
    const auto run = [](Dtype dtype, int64_t vocab) {
        CaseTensor temperatures = case_tensor("temperatures", {2});
        temperatures.fill = {Fill::kUniform, 1, 2};
        const Case c =
            make_case("batch_apply_temperature_penalty", {case_tensor("logits", {2, 5}, dtype), temperatures},
                      {{"batch_size", {int64_t{2}}}, {"vocab_size", {vocab}}, {"vocab_size_padd", {int64_t{5}}}});
        return run_adapted(c, **find_backend("cpu"), R"({"common": {"dtype": "(float16,float64)->float32"}})");
    };
    CHECK(run(Dtype::float64, 3).verdict == Verdict::kPassed);
    CHECK(run(Dtype::float16, 5).verdict == Verdict::kPassed);
    CHECK(run(Dtype::float16, 3).verdict == Verdict::kSkipped);
    CHECK_THAT(run(Dtype::float16, 3).reason, Contains("the lowest number of the dtype"));
}

TEST_CASE("a result that is rounded twice may have the error of both roundings", "[run][adaptor]") {
    const Step step{"forward", "add", Call(*find_row("diopiAdd")), {{0, {{2}, Dtype::float16}}}};
    const AdaptorRules widening = rules_from(R"({"common": {"dtype": "(float16,float64)->float32"}})");
    CHECK(earlier_rounding(step, step.outputs.front(), widening) == 0x1p-14);
    CHECK(earlier_rounding(step, {0, {{2}, Dtype::float32}}, widening) == 0);
    CHECK(earlier_rounding(step, {0, {{2}, Dtype::float64}}, widening) == 0);
    CHECK(earlier_rounding(step, {0, {{2}, Dtype::int64}}, widening) == 0);
}

TEST_CASE("in-place and backward functions are adapted like forward ones", "[run][adaptor]") {
    Case c = case_of("sqrt", Dtype::float64, {"input"});
    c.tensors.front().fill.fn = Fill::kUniform;
    c.tensors.front().fill.low = 1;
    c.tensors.front().fill.high = 2;
    c.inplace = true;
    const CaseResult result = run_adapted(c, **find_backend("cpu"), kNarrow);
    CHECK(result.reason.empty());
    CHECK(result.verdict == Verdict::kPassed);
    REQUIRE(result.steps.size() == 2);
    CHECK(result.steps[1].adapted.conversions == 2);
    // A rule for only one of the two functions.
    const char* in_place = R"({"ops": {"diopiSqrtInp": {"dtype": "default"}}})";
    CHECK(run_adapted(c, **find_backend("cpu"), in_place).reason.empty());
    Case sigmoid = case_of("sigmoid", Dtype::float64, {"input"});
    sigmoid.backward = true;
    sigmoid.tensors.front().requires_grad = true;
    const CaseResult backward = run_adapted(sigmoid, **find_backend("cpu"), kNarrow);
    CHECK(backward.reason.empty());
    REQUIRE(backward.steps.size() == 2);
    CHECK(backward.steps[1].adapted.casts == std::vector<std::string>{"float64 in float32"});
}

TEST_CASE("random numbers, values with their places and made tensors are judged as the device computed them",
          "[run][adaptor]") {
    const auto judged = [](const Case& c) {
        const CaseResult result = run_adapted(c, **find_backend("cpu"), kNarrow);
        INFO(result.reason);
        CHECK(result.verdict == Verdict::kPassed);
        REQUIRE_FALSE(result.steps.empty());
        CHECK(result.steps.front().adapted.calls == 1);
    };
    Case dropout = case_of("dropout", Dtype::float64, {"input"});
    dropout.params = {{"p", Param{0.5}}};
    judged(dropout);
    Case topk = case_of("topk", Dtype::float64, {"input"});
    topk.params = {{"k", Param{int64_t{3}}}, {"sorted", Param{false}}};
    judged(topk);
    Case select = case_of("masked_select", Dtype::float64, {"input", "mask"});
    select.tensors[1].specs.front().dtype = Dtype::boolean;
    judged(select);
}

}  // namespace diopi
