#include "report/junit.hpp"

#include <fmt/format.h>

#include <map>

#include "file/atomic_file.hpp"
#include "report/error_report.hpp"
#include "report/summary.hpp"

namespace diopi {

namespace {

/// Bytes of the UTF-8 sequence at the start of `text`, 0 when it is invalid (overlong, a surrogate, cut off).
size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xC2 && first < 0xE0 ? 2
                          : (first & 0xF0u) == 0xE0u      ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 0;
    if (length == 0 || text.size() < length) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0u) != 0x80u) return 0;
    }
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return length;
}

/// One ASCII character; empty for a control character.
std::string ascii_escaped(char c) {
    switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\n':
            return "&#10;";
        case '\t':
            return "&#9;";
        default:
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? "" : std::string(1, c);
    }
}

const char* element_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kFailed:
            return "failure";
        case Verdict::kCrashed:
        case Verdict::kTimeout:
            return "error";
        case Verdict::kSkipped:
        case Verdict::kNotImplemented:
        case Verdict::kAdvice:
        case Verdict::kPassed:
            break;
    }
    return "skipped";
}

std::string test_case(const CaseResult& result, const std::string& options) {
    std::string text = fmt::format("    <testcase classname=\"diopi.{}\" name=\"{}\" time=\"{:.6f}\"",
                                   xml_escaped(result.op), xml_escaped(result.case_id), result.seconds);
    const std::vector<Fault> faults = faults_of(result);
    if (faults.empty()) return text + "/>\n";
    const char* element = element_of(result.verdict);
    const std::string reason = result.reason.empty() ? faults.front().reason : result.reason;
    text += fmt::format(">\n      <{} message=\"{}\"", element, xml_escaped(reason));
    if (!is_failure(result.verdict)) return text + "/>\n    </testcase>\n";
    std::string details;
    for (const Fault& fault : faults) {
        details += failure_text(fault, "   ") + "\n" + fault.reason + "\n";
        if (!fault.bundle.empty()) details += "bundle: " + fault.bundle + "\n";
    }
    details += repeat_command(result.case_id, options);
    return text +
           fmt::format(" type=\"{}\">{}</{}>\n    </testcase>\n", name(result.verdict), xml_escaped(details), element);
}

std::string counters(const Counts& counts, double seconds) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.6f}\"", counts.total(),
                       counts.failed, counts.crashed + counts.timeout,
                       counts.skipped + counts.not_implemented + counts.advice, seconds);
}

struct Suite {
    Counts counts;
    double seconds = 0;
    std::string cases;
};

}  // namespace

std::string xml_escaped(std::string_view text) {
    std::string escaped;
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        const std::string_view piece = text.substr(0, length == 0 ? 1 : length);
        text.remove_prefix(piece.size());
        if (length == 1) {
            escaped += ascii_escaped(piece[0]);
        } else if (length == 0 || piece == "\xEF\xBF\xBE" || piece == "\xEF\xBF\xBF") {
            escaped += '?';
        } else {
            escaped += piece;
        }
    }
    return escaped;
}

std::string junit_xml(const std::vector<CaseResult>& results, const std::string& options) {
    std::map<std::string, Suite> suites;
    double seconds = 0;
    for (const CaseResult& result : results) {
        Suite& suite = suites[result.op];
        suite.counts.add(result.verdict);
        suite.seconds += result.seconds;
        seconds += result.seconds;
        suite.cases += test_case(result, options);
    }
    std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"diopi\" {}>\n",
                                   counters(count(results), seconds));
    for (const auto& [op, suite] : suites) {
        text += fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml_escaped(op),
                            counters(suite.counts, suite.seconds), suite.cases);
    }
    return text + "</testsuites>\n";
}

Status write_junit(const std::string& path, const std::vector<CaseResult>& results, const std::string& options) {
    return write_file_atomically(path, junit_xml(results, options));
}

}  // namespace diopi
