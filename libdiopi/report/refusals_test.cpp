#include "report/refusals.hpp"

#include <catch2/catch.hpp>

#include "cases/case.hpp"
#include "report/summary.hpp"

namespace diopi {

namespace {

CaseResult bad_call(const std::string& id, const std::string& op, Verdict verdict, FailureKind kind) {
    CaseResult result;
    result.case_id = id;
    result.suite = kBadSuite;
    result.op = op;
    result.verdict = verdict;
    result.kind = kind;
    result.choices = {{"bad call", "dim is 2"}};
    return result;
}

}  // namespace

TEST_CASE("bad calls are counted by what a library did with them") {
    CaseResult good;
    good.op = "add";
    const std::vector<CaseResult> results = {
        good,
        bad_call("bad/add.0", "add", Verdict::kPassed, FailureKind::kNone),
        bad_call("bad/add.1", "add", Verdict::kAdvice, FailureKind::kAccepted),
        bad_call("bad/add.2", "add", Verdict::kAdvice, FailureKind::kAccepted),
        bad_call("bad/mul.0", "mul", Verdict::kAdvice, FailureKind::kCrashed),
        bad_call("bad/mul.1", "mul", Verdict::kNotImplemented, FailureKind::kNone)};
    const Refusals refusals = refusals_of(results);
    CHECK(refusals.calls == 4);
    CHECK(refusals.refused == 1);
    REQUIRE(refusals.others.size() == 2);
    CHECK(refusals.others[0].cases == std::vector<std::string>{"bad/add.1", "bad/add.2"});
    CHECK(refusals.others[1].outcome == "crashed");
    CHECK(refusals_text(refusals, {80}) ==
          "\n4 bad calls: 1 refused, 2 accepted, 1 crashed (advice: it fails no run)\n"
          "bad calls of  calls  were      the first one\n"
          "------------  -----  --------  -------------------\n"
          "add               2  accepted  bad/add.1: dim is 2\n"
          "mul               1  crashed   bad/mul.0: dim is 2\n");
    CHECK(refusals_text(refusals_of({good}), {80}).empty());
    CHECK(summary_line(count(results), 1) == "6 cases (5 bad calls): 2 passed, 1 not implemented, 3 advice (1.0 s)");
    CHECK(count(results).failures() == 0);
}

}  // namespace diopi
