#include "run/failure_kind.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

CaseResult result(Verdict verdict, const std::string& reason) {
    CaseResult out;
    out.verdict = verdict;
    out.reason = reason;
    return out;
}

FailureKind kind_of(const std::string& reason) { return failure_kind(result(Verdict::kFailed, reason)); }

}  // namespace

TEST_CASE("a reason tells the kind of failure") {
    CHECK(kind_of("out: 3 of 132 elements differ: max 2 ulp at (1): got 1, expected 2; last element") ==
          FailureKind::kValues);
    CHECK(kind_of("out: nan at (3) where 1 is expected; last element") == FailureKind::kValues);
    CHECK(kind_of("out: 1 of 132 elements were never written; last element") == FailureKind::kUnwritten);
    CHECK(kind_of("wrote 4 bytes past the end of out, the nearest 8 bytes away from it") == FailureKind::kStrayWrite);
    CHECK(kind_of("wrote 4 bytes between the elements of out: it has strides (2,)") == FailureKind::kStrayWrite);
    CHECK(kind_of("out: two runs on the same inputs differ in 1 of 132 elements") == FailureKind::kNotRepeatable);
    CHECK(kind_of("input input was modified: it is const in diopiRelu") == FailureKind::kInputModified);
    CHECK(kind_of("out: shape (33, 4) where (4, 33) is wanted") == FailureKind::kForm);
    CHECK(kind_of("keeps 200 bytes of memory at each call") == FailureKind::kKeepsMemory);
    CHECK(kind_of("wrote 14 bytes to standard output: \"hello\"") == FailureKind::kPrinted);
    CHECK(kind_of("out of memory; try --jobs 1") == FailureKind::kOutOfMemory);
    CHECK(kind_of("diopiErrorOccurred") == FailureKind::kError);
    CHECK(failure_kind(result(Verdict::kCrashed, "SIGSEGV")) == FailureKind::kNone);
}

TEST_CASE("two failures are the same when kind and step are, whatever their figures") {
    const auto failed = [](const std::string& reason, const std::string& step) {
        CaseResult out = result(Verdict::kFailed, reason);
        out.steps.resize(1);
        out.steps[0].step = step;
        out.steps[0].verdict = Verdict::kFailed;
        return signature_of(out);
    };
    CHECK(failed("out: 3 of 9 elements differ", "forward") == failed("out: 1 of 2 elements differ", "forward"));
    CHECK_FALSE(failed("out: 3 of 9 elements differ", "forward") == failed("out: 3 of 9 elements differ", "backward"));
    CHECK_FALSE(failed("out: 3 of 9 elements differ", "forward") ==
                failed("out: 3 of 9 elements were never written", "forward"));
    CHECK(failed("bad shape (3, 4)", "forward") == failed("bad shape (1,)", "forward"));
    CHECK_FALSE(failed("bad shape (3, 4)", "forward") == failed("bad dtype", "forward"));
    CHECK_FALSE(signature_of(result(Verdict::kCrashed, "SIGSEGV (x) in forward (diopiAdd)")) ==
                signature_of(result(Verdict::kCrashed, "SIGSEGV (x) in backward (diopiAddBackward)")));
}
