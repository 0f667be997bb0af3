#include "shrink/failure_signature.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

FailureSignature signature_with(FailureKind kind, const std::string& reason, const std::string& step) {
    CaseResult result;
    result.verdict = Verdict::kFailed;
    result.kind = kind;
    result.reason = reason;
    result.steps.resize(1);
    result.steps[0].step = step;
    result.steps[0].verdict = Verdict::kFailed;
    return signature_of(result);
}

FailureSignature crashed_in(const std::string& step) {
    CaseResult result;
    result.verdict = Verdict::kCrashed;
    result.reason = "SIGSEGV (x)";
    result.step_under_way = step;
    return signature_of(result);
}

}  // namespace

TEST_CASE("two failures are the same if kind and step are, with any figures") {
    const auto values = signature_with(FailureKind::kValues, "out: 3 of 9 elements differ", "forward");
    CHECK(values == signature_with(FailureKind::kValues, "out: 1 of 2 elements differ", "forward"));
    CHECK_FALSE(values == signature_with(FailureKind::kValues, "out: 3 of 9 elements differ", "backward"));
    CHECK_FALSE(values == signature_with(FailureKind::kUnwritten, "out: 3 of 9 elements differ", "forward"));
    CHECK_FALSE(crashed_in("forward") == crashed_in("backward"));
}

TEST_CASE("two errors are the same if their letters are") {
    const auto shape = signature_with(FailureKind::kError, "bad shape (3, 4)", "forward");
    CHECK(shape == signature_with(FailureKind::kError, "bad shape (1,)", "forward"));
    CHECK(shape == signature_with(FailureKind::kError, "bad shape (1,); stderr: 7 apples", "forward"));
    CHECK_FALSE(shape == signature_with(FailureKind::kError, "bad dtype", "forward"));
}
