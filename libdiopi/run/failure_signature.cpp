#include "run/failure_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace diopi {

namespace {

struct KindWords {
    const char* words;
    FailureKind kind;
};

/// The first row whose words stand in the reason decides: what is more telling stands before what may come with it.
constexpr std::array kWords = {
    KindWords{"was modified: it is const", FailureKind::kInputModified},
    KindWords{"out of memory", FailureKind::kOutOfMemory},
    KindWords{" past the end of ", FailureKind::kStrayWrite},
    KindWords{" before the start of ", FailureKind::kStrayWrite},
    KindWords{" bytes between the elements of ", FailureKind::kStrayWrite},
    KindWords{" were never written", FailureKind::kUnwritten},
    KindWords{"two runs ", FailureKind::kNotRepeatable},
    KindWords{" bytes of memory at each call", FailureKind::kKeepsMemory},
    KindWords{" elements differ", FailureKind::kValues},
    KindWords{" is expected; ", FailureKind::kValues},
    KindWords{" such places)", FailureKind::kValues},
    KindWords{" is wanted", FailureKind::kForm},
    KindWords{" are wanted", FailureKind::kForm},
    KindWords{" changed its shape or dtype", FailureKind::kForm},
    KindWords{"Kolmogorov-Smirnov", FailureKind::kDistribution},
    KindWords{" values)", FailureKind::kDistribution},
    KindWords{"uneven counts: ", FailureKind::kDistribution},
    KindWords{" at element ", FailureKind::kDistribution},
    KindWords{"the numbers are in order", FailureKind::kDistribution},
};
constexpr std::string_view kPrinted = " bytes to standard output: ";

constexpr std::array kSteps = {"forward", "inplace", "backward"};

/// The step in which a result went wrong: of a crash or a timeout the reason names it.
std::string step_of(const CaseResult& result) {
    for (const StepResult& step : result.steps) {
        if (step.verdict == result.verdict) return step.step;
    }
    for (const char* step : kSteps) {
        if (result.reason.find(std::string(step) + " (diopi") != std::string::npos) return step;
    }
    return "";
}

std::string letters_of(std::string_view reason) {
    // What the process printed beside its answer may differ each time.
    const std::string_view own = reason.substr(0, reason.find("; stderr: "));
    std::string letters;
    std::ranges::copy_if(own, std::back_inserter(letters), [](unsigned char c) { return std::isalpha(c) != 0; });
    return letters;
}

}  // namespace

std::string_view name(FailureKind kind) {
    switch (kind) {
        case FailureKind::kNone:
            return "none";
        case FailureKind::kValues:
            return "values differ";
        case FailureKind::kUnwritten:
            return "elements were never written";
        case FailureKind::kStrayWrite:
            return "a stray write";
        case FailureKind::kNotRepeatable:
            return "not repeatable";
        case FailureKind::kInputModified:
            return "an input was modified";
        case FailureKind::kForm:
            return "shape or dtype";
        case FailureKind::kKeepsMemory:
            return "keeps memory";
        case FailureKind::kDistribution:
            return "distribution";
        case FailureKind::kPrinted:
            return "printed";
        case FailureKind::kOutOfMemory:
            return "out of memory";
        case FailureKind::kError:
            return "an error";
    }
    return "";
}

FailureKind failure_kind(const CaseResult& result) {
    if (result.verdict != Verdict::kFailed) return FailureKind::kNone;
    const auto found = std::ranges::find_if(
        kWords, [&](const KindWords& row) { return result.reason.find(row.words) != std::string::npos; });
    if (found != kWords.end()) return found->kind;
    return result.reason.find(kPrinted) != std::string::npos ? FailureKind::kPrinted : FailureKind::kError;
}

FailureSignature signature_of(const CaseResult& result) {
    FailureSignature signature{result.verdict, failure_kind(result), step_of(result), ""};
    if (signature.kind == FailureKind::kError) signature.text = letters_of(result.reason);
    return signature;
}

}  // namespace diopi
