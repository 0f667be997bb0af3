#include "conformance/bad_calls.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "backend/faulty_testing.hpp"
#include "conformance/case_worker.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

bool has(const std::vector<Case>& cases, const std::string& step, const std::string& text) {
    return std::ranges::any_of(cases, [&](const Case& c) { return c.bad->step == step && c.bad->text() == text; });
}

CaseResult run(const Case& c, const Backend& backend) {
    CaseOptions options;
    options.backend = &backend;
    return run_case(c, options);
}

CaseResult run_relu(const std::string& text,
                    diopiError_t (*relu)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t)) {
    const testing::FaultyBackend faulty({{"diopiRelu", testing::any_function(relu)}});
    for (const Case& c : bad_calls("relu")) {
        if (c.bad->step == "forward" && c.bad->text() == text) return run(c, faulty.backend());
    }
    FAIL("relu has no bad call with " << text);
    return {};
}

diopiError_t refuses(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiErrorOccurred; }
diopiError_t accepts(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
diopiError_t writes_first(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t) {
    out->data_as<float>()[0] = 1;
    return diopiErrorOccurred;
}
diopiError_t writes_to_its_input(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t input) {
    const_cast<float*>(input->data_as<float>())[0] += 1;
    return diopiErrorOccurred;
}

}  // namespace

TEST_CASE("bad calls are made from the rows of an operator, for each function and step") {
    const std::vector<Case> add = bad_calls("add"), softmax = bad_calls("softmax"), mm = bad_calls("mm");
    CHECK(has(add, "forward", "input is null"));
    CHECK(has(add, "inplace", "other is null"));
    CHECK(has(add, "forward", "the last dim of other is one longer"));
    CHECK(has(add, "forward", "out is int64"));
    // Each of them has a meaning.
    CHECK_FALSE(has(add, "forward", "other is float32"));
    CHECK_FALSE(has(add, "forward", "other is int64"));
    CHECK(has(softmax, "forward", "dim is 2"));
    CHECK(has(softmax, "forward", "dim is -3"));
    CHECK_FALSE(has(softmax, "forward", "dim is -1"));
    CHECK(has(softmax, "backward", "grad_input is null"));
    CHECK(has(bad_calls("embedding"), "forward", "indices[0] is 1073741824"));
    CHECK(has(bad_calls("nll_loss"), "backward", "target[0] is 1073741824"));
    CHECK_FALSE(has(bad_calls("where"), "forward", "condition[0] is 1073741824"));
    CHECK(has(mm, "forward", "the last dim of input is one longer"));
    CHECK(has(bad_calls("linear"), "forward", "weight is null"));
    CHECK_FALSE(has(bad_calls("linear"), "forward", "bias is null"));
    CHECK(bad_calls("ball_query_mmcv").empty());
}

TEST_CASE("a bad call is found by its id") {
    std::set<std::string> ids;
    for (const Case& c : bad_calls("max_pool2d")) {
        CHECK(ids.insert(c.id()).second);
        const auto found = find_bad_call(c.id());
        REQUIRE(found.ok());
        CHECK(found->bad->text() == c.bad->text());
        CHECK(found->bad->step == c.bad->step);
        CHECK(found->fingerprint() == c.fingerprint());
    }
    for (const char* id : {"bad/relu.9999", "bad/relu", "bad/", "bad/ball_query_mmcv.0"})
        CHECK_FALSE(find_bad_call(id).ok());
    CHECK(find_bad_call("bad/rely.0").error().message.find("relu") != std::string::npos);
}

TEST_CASE("the backends refuse null handles and shapes that contradict, in every function with hard cases") {
    int calls = 0;
    for (const char* name : {"cpu", "reference"}) {
        const Backend& backend = **find_backend(name);
        std::set<std::string_view> operators;
        for (const Row& row : rows()) {
            if (!operators.insert(row.op).second) continue;
            for (const Case& c : bad_calls(row.op)) {
                // They convert to a dtype below the result's, do not read the bias of layer_norm's gradient, and take a
                // null factor for 1 and null statistics for unwanted ones.
                const bool is_null = c.bad->change == BadCall::Change::kNull;
                const bool is_unread = c.op == "layer_norm" && c.bad->step == "backward" && c.bad->arg == "bias";
                const bool may_be_null = c.bad->arg == "alpha" || c.bad->arg.starts_with("save_");
                if (c.bad->change == BadCall::Change::kDtype || is_unread || (is_null && may_be_null)) continue;
                const CaseResult result = run(c, backend);
                INFO(name << " " << c.id() << " " << c.bad->step << ": " << c.bad->text() << ": " << result.reason);
                CHECK((result.verdict == Verdict::kPassed || result.verdict == Verdict::kNotImplemented));
                ++calls;
            }
        }
    }
    CHECK(calls > 1000);
}

TEST_CASE("a library that accepts a bad call, or writes before it refuses one, is told so") {
    const std::string longer = "the last dim of out is one longer";
    CHECK(run_relu(longer, refuses).verdict == Verdict::kPassed);
    CHECK(run_relu("out is null", refuses).verdict == Verdict::kPassed);
    CHECK(run_relu(longer, accepts).kind == FailureKind::kAccepted);
    CHECK(run_relu("out is null", accepts).kind == FailureKind::kAccepted);
    const CaseResult wrote = run_relu(longer, writes_first);
    CHECK(wrote.kind == FailureKind::kStrayWrite);
    CHECK(wrote.reason == "returned an error, but wrote to out");
    CHECK(run_relu(longer, writes_to_its_input).kind == FailureKind::kInputModified);
}

TEST_CASE("success is a failure where the standard says that the call is an error, else advice") {
    const auto accept_min = [](diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
        return diopiSuccess;
    };
    using Min = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
    const testing::FaultyBackend faulty({{"diopiMinAll", testing::any_function(static_cast<Min>(accept_min))}});
    CaseWorkerOptions options;
    options.cases.backend = &faulty.backend();
    CaseWorker worker(options);
    int failed = 0, advice = 0;
    for (const Case& c : bad_calls("min")) {
        WorkOutcome outcome;
        outcome.payload = worker.work(c).payload;
        const CaseResult result = worker.result_of(c, outcome);
        CHECK(is_failure(result.verdict) == (result.reason == "input is empty: returned success"));
        failed += is_failure(result.verdict) ? 1 : 0;
        advice += result.verdict == Verdict::kAdvice ? 1 : 0;
    }
    CHECK(failed == 1);
    CHECK(advice > 0);
    CHECK(has(bad_calls("pow"), "forward", "exponent is -1, of int32"));
    CHECK(has(bad_calls("pow"), "inplace", "exponent is -1, of int32"));
}

}  // namespace diopi
