#include "report/error_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/shape.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

constexpr const char* kRule = "---------------------------------\n";
constexpr std::string_view kUnquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%-";

const Deviation* worst_of(const std::vector<Deviation>& deviations) {
    const auto further = [](const Deviation& a, const Deviation& b) {
        return std::tuple(a.mismatches > 0, a.budget_used) < std::tuple(b.mismatches > 0, b.budget_used);
    };
    const auto worst = std::max_element(deviations.begin(), deviations.end(), further);
    return worst == deviations.end() ? nullptr : &*worst;
}

std::string in_one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return text;
}

const char* suffix_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kCrashed:
            return " (crashed)";
        case Verdict::kTimeout:
            return " (timeout)";
        case Verdict::kPassed:
        case Verdict::kFailed:
        case Verdict::kSkipped:
        case Verdict::kNotImplemented:
        case Verdict::kAdvice:
            break;
    }
    return "";
}

/// Tags for the levels of a hard case that are not plain: ", special values, first transposed".
std::string tags_of(const CaseResult& result) {
    std::string tags;
    for (const auto& [factor, level] : result.choices) {
        const bool is_plain = level == "contiguous" || level == "normal";
        if (factor == "values" && !is_plain) tags += ", values " + level;
        if (factor.ends_with("layout") && !is_plain) tags += ", " + level;
    }
    if (result.passes_alone) tags += ", passes alone";
    return tags;
}

/// "27 cases of add, mul".
std::string cases_of(const std::map<std::string, int64_t>& cases_by_operator) {
    int64_t sum = 0;
    std::vector<std::string> names;
    for (const auto& [name, cases] : cases_by_operator) {
        sum += cases;
        names.push_back(name);
    }
    return fmt::format("{} of {}", counted(sum, "case"), listed(names));
}

}  // namespace

std::vector<Fault> faults_of(const CaseResult& result) {
    std::vector<Fault> faults;
    if (result.verdict == Verdict::kPassed) return faults;
    bool explained = false;
    for (const StepResult& step : result.steps) {
        if (step.verdict == Verdict::kPassed) continue;
        const std::string& reason = step.reason.empty() ? result.reason : step.reason;
        faults.push_back({&result, step.function, step.step, step.verdict, in_one_line(reason),
                          worst_of(step.deviations), step.bundle, step.kind});
        explained = explained || step.verdict == result.verdict;
    }
    if (!explained) {
        faults.push_back(
            {&result, result.op, "", result.verdict, in_one_line(result.reason), nullptr, result.bundle, result.kind});
    }
    return faults;
}

std::vector<Fault> faults_of(const std::vector<CaseResult>& results) {
    std::vector<Fault> all;
    for (const CaseResult& result : results) {
        for (Fault& fault : faults_of(result)) all.push_back(std::move(fault));
    }
    return all;
}

std::string tensor_info(const std::vector<TensorInfo>& tensors) {
    std::string text = "[";
    for (const TensorInfo& tensor : tensors) {
        if (text.size() > 1) text += ", ";
        text += fmt::format("({}, {}, {})", tensor.name, tensor.dtype, to_string(tensor.shape));
    }
    return text + "]";
}

std::string failure_text(const Fault& fault, std::string_view gap) {
    const std::string step = fault.step.empty() ? "" : ", " + fault.step;
    return fmt::format("Run diopi_functions.{} failed{}.{}TestTag: [{}{}{}]  TensorInfo : {}", fault.function,
                       suffix_of(fault.verdict), gap, fault.result->dtype, step, tags_of(*fault.result),
                       tensor_info(fault.result->tensors));
}

DeviationText deviation_text(const Deviation& d) {
    return {
        fmt::format("{} of {} elements of {}", d.mismatches, d.numel, d.output),
        fmt::format("[{}]: {:.9g}, expected {:.9g}", fmt::join(d.worst_index, ", "), d.worst_actual, d.worst_expected),
        fmt::format("largest {:.4g} ulp, 99% within {:.4g} ulp; absolute {:.4g}, relative {:.4g}", d.max_ulp, d.p99_ulp,
                    d.max_abs, d.max_rel)};
}

std::string shell_quoted(const std::string& text) {
    if (!text.empty() && text.find_first_not_of(kUnquoted) == std::string::npos) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string command_text(std::span<const std::string> words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
    return text;
}

std::string repeat_command(const std::string& case_id, const std::string& options) {
    return "diopi test --case " + shell_quoted(case_id) + (options.empty() ? "" : " " + options);
}

std::string error_report(const std::vector<CaseResult>& results) {
    std::string failures;
    int64_t count = 0;
    // The key is (verdict, function, reason), the value a count of cases.
    std::map<std::tuple<Verdict, std::string, std::string>, int64_t> unrun;
    for (const Fault& fault : faults_of(results)) {
        if (is_failure(fault.verdict)) {
            failures += fmt::format("{}--{}\n", ++count, failure_text(fault, "   "));
        } else {
            const bool skipped = fault.verdict == Verdict::kSkipped;
            ++unrun[{fault.verdict, fault.function, skipped ? fault.reason : ""}];
        }
    }
    std::string text = fmt::format(
        "DIOPI-Test Error Report\n{}{} Tests failed:\n{}{}"
        "Test skipped or op not implemented:\n",
        kRule, count, failures, kRule);
    for (const auto& [key, cases] : unrun) {
        const auto& [verdict, function, reason] = key;
        if (verdict == Verdict::kNotImplemented) {
            text += fmt::format("diopi_functions.{} not implemented ({})\n", function, counted(cases, "case"));
        } else if (verdict == Verdict::kAdvice) {
            text += fmt::format("diopi_functions.{} should refuse bad calls ({})\n", function, counted(cases, "case"));
        } else {
            text += fmt::format("diopi_functions.{} skipped: {} ({})\n", function, reason, counted(cases, "case"));
        }
    }
    return text;
}

std::string failure_report(const std::vector<CaseResult>& results, const std::string& options) {
    std::string failures;
    int64_t count = 0;
    for (const Fault& fault : faults_of(results)) {
        if (!is_failure(fault.verdict)) continue;
        const std::string& id = fault.result->case_id;
        failures += fmt::format("{}--{}\n    {}{}{}\n    repeat: {}\n", ++count, failure_text(fault, "   "), id,
                                fault.reason.empty() ? "" : ": ", fault.reason, repeat_command(id, options));
        if (!fault.bundle.empty()) failures += fmt::format("    bundle: {}\n", fault.bundle);
    }
    if (count == 0) return "";
    return fmt::format("DIOPI-Test Error Report\n{}{} Tests failed:\n{}{}", kRule, count, failures, kRule);
}

std::string unrun_report(const std::vector<CaseResult>& results, const Screen& screen) {
    std::map<std::string, std::map<std::string, int64_t>> skipped;  // by reason and operator: cases
    std::map<std::string, int64_t> lacking;
    for (const CaseResult& result : results) {
        if (result.verdict == Verdict::kSkipped) ++skipped[in_one_line(result.reason)][result.op];
        if (result.verdict == Verdict::kNotImplemented) ++lacking[result.op];
    }
    std::string text;
    for (const auto& [reason, operators] : skipped) {
        text += wrapped(fmt::format("skipped: {}: {}", reason, cases_of(operators)), screen.width);
    }
    if (lacking.empty()) return text;
    return text + wrapped(fmt::format("not implemented: {}", cases_of(lacking)), screen.width);
}

}  // namespace diopi
