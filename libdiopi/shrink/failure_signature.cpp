#include "shrink/failure_signature.hpp"

#include <algorithm>
#include <cctype>

namespace diopi {

namespace {

std::string step_of(const CaseResult& result) {
    for (const StepResult& step : result.steps) {
        if (step.verdict == result.verdict) return step.step;
    }
    return result.step_under_way;
}

std::string letters_of(std::string_view reason) {
    // The text that the process printed beside its result may vary.
    const std::string_view own = reason.substr(0, reason.find("; stderr: "));
    std::string letters;
    std::ranges::copy_if(own, std::back_inserter(letters), [](unsigned char c) { return std::isalpha(c) != 0; });
    return letters;
}

}  // namespace

FailureSignature signature_of(const CaseResult& result) {
    FailureSignature signature{result.verdict, result.kind, step_of(result), ""};
    if (signature.kind == FailureKind::kError) signature.text = letters_of(result.reason);
    return signature;
}

}  // namespace diopi
