#include "gui/run_view.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

CaseResult seen(const std::string& id, const std::string& op, std::vector<StepResult> steps,
                Verdict verdict = Verdict::kPassed) {
    CaseResult result;
    result.case_id = id;
    result.suite = "ops";
    result.op = op;
    result.dtype = "float32";
    result.verdict = verdict;
    result.steps = std::move(steps);
    return result;
}

StepResult step(const std::string& function, const std::string& step, Verdict verdict, double budget_used,
                double seconds) {
    Deviation deviation;
    deviation.budget_used = budget_used;
    return {function, step, verdict, "", {deviation}, seconds};
}

Journal two_operators() {
    Journal journal;
    journal.results = {seen("ops/a.relu.10", "relu", {step("relu", "forward", Verdict::kPassed, 0.5, 1)}),
                       seen("ops/a.relu.9", "relu",
                            {step("relu", "forward", Verdict::kPassed, 0.25, 2),
                             step("relu_backward", "backward", Verdict::kFailed, 3, 4)},
                            Verdict::kFailed),
                       seen("ops/a.conv2d.0", "conv2d", {step("conv2d", "forward", Verdict::kPassed, 1, 8)})};
    return journal;
}

}  // namespace

TEST_CASE("a filter has words, any of which a name contains", "[gui]") {
    CHECK(filter_matches("", "relu"));
    CHECK(filter_matches("  ", "relu"));
    CHECK(filter_matches("eL", "ReLu"));
    CHECK(filter_matches("conv relu", "leaky_relu"));
    CHECK(filter_matches("c*2d", "conv2d"));
    CHECK_FALSE(filter_matches("conv", "relu"));
}

TEST_CASE("a view has the figures of the cases that its filter chooses", "[gui]") {
    const RunView all(two_operators(), "");
    CHECK(all.counts().passed == 2);
    CHECK(all.counts().failed == 1);
    CHECK(all.families().size() == 2);
    CHECK(all.support().size() == 2);
    CHECK(all.functions().size() == 3);
    CHECK(all.results()[0].case_id == "ops/a.conv2d.0");
    CHECK(all.results()[1].case_id == "ops/a.relu.9");

    const RunView chosen(two_operators(), "relu");
    CHECK(chosen.counts().total() == 2);
    CHECK(chosen.support().size() == 1);
    CHECK(chosen.functions().at("relu").seconds == 3);
    CHECK(chosen.functions().at("relu").budgets == std::map<int64_t, int64_t>{{25, 1}, {50, 1}});
    CHECK(chosen.functions().at("relu_backward").budgets == std::map<int64_t, int64_t>{{kOverBudget, 1}});
}

TEST_CASE("a filter that matches a function alone leaves the others of the operator out", "[gui]") {
    const RunView view(two_operators(), "backward");
    CHECK(view.counts().total() == 1);
    CHECK(view.functions().size() == 1);
    CHECK(view.functions().contains("relu_backward"));
}

TEST_CASE("the failures of a view stay valid when it moves", "[gui]") {
    RunView before(two_operators(), "");
    const RunView view = std::move(before);
    REQUIRE(view.failures().size() == 1);
    CHECK(view.failures()[0].result == &view.results()[1]);
    CHECK(view.failures()[0].function == "relu_backward");
}

TEST_CASE("the progress of a run says whether it goes on", "[gui]") {
    Journal journal = two_operators();
    journal.header.cases = 3;
    CHECK(progress_text(journal, false) == "3 cases");
    journal.header.cases = 4;
    CHECK(progress_text(journal, true) == "running: 3 of 4 cases");
    CHECK(progress_text(journal, false) == "stopped after 3 of 4 cases: diopi test --resume runs the others");
}

TEST_CASE("a cell of the matrix opens its cases", "[gui]") {
    const RunView view(two_operators(), "");
    const SharedSupport& row = view.support().at(1);
    CHECK(row.op == "relu");
    CHECK(view.cases_of(row, Aspect::kForward).size() == 2);
    REQUIRE(view.cases_of(row, Aspect::kBackward).size() == 1);
    CHECK(view.cases_of(row, Aspect::kBackward)[0]->case_id == "ops/a.relu.9");
    CHECK(view.cases_of(row, Aspect::kInplace).empty());
    CHECK(view.cases_of({"relu", {}, {"float64"}}, Aspect::kForward).empty());
}

}  // namespace diopi
