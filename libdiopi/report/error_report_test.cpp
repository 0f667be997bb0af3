#include "report/error_report.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

CaseResult reported(const std::string& id, const std::string& op, Verdict verdict, const std::string& reason = "") {
    CaseResult result;
    result.case_id = id;
    result.op = op;
    result.dtype = "float32";
    result.verdict = verdict;
    result.reason = reason;
    result.tensors = {{"input", "float32", {32, 16, 112, 112}}, {"running_mean", "float32", {16}}};
    return result;
}

CaseResult failing_backward() {
    CaseResult result = reported("ops/norm.batch_norm.0", "batch_norm", Verdict::kFailed);
    Deviation fine;
    fine.output = "grad_weight";
    fine.budget_used = 0.9;
    Deviation far;
    far.output = "grad_input";
    far.mismatches = 3;
    far.budget_used = 2;
    result.steps = {{"batch_norm", "forward", Verdict::kPassed, "", {}, 0},
                    {"batch_norm_backward", "backward", Verdict::kFailed, "3 elements\nare off", {fine, far}, 0}};
    return result;
}

}  // namespace

TEST_CASE("the error report has the form that users know", "[report]") {
    CHECK(error_report({failing_backward()}) ==
          "DIOPI-Test Error Report\n"
          "---------------------------------\n"
          "1 Tests failed:\n"
          "1--Run diopi_functions.batch_norm_backward failed.   TestTag: [float32, backward]  TensorInfo : [(input, "
          "float32, (32, 16, 112, 112)), (running_mean, float32, (16,))]\n"
          "---------------------------------\n"
          "Test skipped or op not implemented:\n");
}

TEST_CASE("the error report is written if nothing failed", "[report]") {
    CHECK(error_report({}) ==
          "DIOPI-Test Error Report\n"
          "---------------------------------\n"
          "0 Tests failed:\n"
          "---------------------------------\n"
          "Test skipped or op not implemented:\n");
}

TEST_CASE("a crash counts as a failure, skips and missing operators are counted by reason", "[report]") {
    const std::string report = error_report(
        {reported("a", "relu", Verdict::kCrashed, "SIGSEGV"), reported("b", "add", Verdict::kSkipped, "bool"),
         reported("c", "add", Verdict::kSkipped, "bool"), reported("d", "nms", Verdict::kNotImplemented)});
    CHECK(report ==
          "DIOPI-Test Error Report\n"
          "---------------------------------\n"
          "1 Tests failed:\n"
          "1--Run diopi_functions.relu failed (crashed).   TestTag: [float32]  TensorInfo : [(input, float32, (32, 16, "
          "112, 112)), (running_mean, float32, (16,))]\n"
          "---------------------------------\n"
          "Test skipped or op not implemented:\n"
          "diopi_functions.add skipped: bool (2 cases)\n"
          "diopi_functions.nms not implemented (1 case)\n");
}

TEST_CASE("the list of failures has the id, the reason and the command that repeats it", "[report]") {
    CHECK(failure_report({failing_backward()}, "--seed 7") ==
          "DIOPI-Test Error Report\n"
          "---------------------------------\n"
          "1 Tests failed:\n"
          "1--Run diopi_functions.batch_norm_backward failed.   TestTag: [float32, backward]  TensorInfo : [(input, "
          "float32, (32, 16, 112, 112)), (running_mean, float32, (16,))]\n"
          "    ops/norm.batch_norm.0: 3 elements are off\n"
          "    repeat: diopi test --case ops/norm.batch_norm.0 --seed 7\n"
          "---------------------------------\n");
    CHECK(failure_report({reported("b", "add", Verdict::kSkipped, "bool")}, "").empty());
}

TEST_CASE("what did not run is a line for each reason, and one for what a library lacks", "[report]") {
    std::vector<CaseResult> results = {reported("a", "add", Verdict::kSkipped, "bool"),
                                       reported("b", "add", Verdict::kSkipped, "bool"),
                                       reported("c", "mul", Verdict::kSkipped, "bool")};
    for (int i = 0; i < 10; ++i) {
        results.push_back(reported("x", "op" + std::to_string(i), Verdict::kNotImplemented));
    }
    CHECK(unrun_report(results, {}) ==
          "skipped: bool: 3 cases of add, mul\n"
          "not implemented: 10 cases of op0, op1, op2, op3, op4, op5, op6, op7, ... and 2 more\n");
}

TEST_CASE("a fault names the step and the worst output", "[report]") {
    const CaseResult result = failing_backward();
    const std::vector<Fault> faults = faults_of(result);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].function == "batch_norm_backward");
    CHECK(faults[0].reason == "3 elements are off");
    REQUIRE(faults[0].deviation != nullptr);
    CHECK(faults[0].deviation->output == "grad_input");
}

TEST_CASE("the text of a deviation has its worst element and its largest errors", "[report]") {
    Deviation deviation;
    deviation.output = "out";
    deviation.mismatches = 3;
    deviation.numel = 64;
    deviation.worst_index = {0, 3};
    deviation.worst_actual = 1.5;
    deviation.worst_expected = 1.25;
    deviation.max_ulp = 4;
    deviation.p99_ulp = 1;
    deviation.max_abs = 0.25;
    deviation.max_rel = 0.2;
    const DeviationText text = deviation_text(deviation);
    CHECK(text.mismatches == "3 of 64 elements of out");
    CHECK(text.worst == "[0, 3]: 1.5, expected 1.25");
    CHECK(text.error == "largest 4 ulp, 99% within 1 ulp; absolute 0.25, relative 0.2");
}

TEST_CASE("a case that crashed after a passed step is still a fault", "[report]") {
    CaseResult result = failing_backward();
    result.steps.pop_back();
    result.verdict = Verdict::kCrashed;
    const std::vector<Fault> faults = faults_of(result);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].function == "batch_norm");
    CHECK(faults[0].step.empty());
}

TEST_CASE("the repeat command is quoted for a shell", "[report]") {
    CHECK(repeat_command("ops/binary.add.17", "--seed 7") == "diopi test --case ops/binary.add.17 --seed 7");
    CHECK(repeat_command("ops/it's.a b.1", "") == "diopi test --case 'ops/it'\\''s.a b.1'");
}

}  // namespace diopi
