#include "report/suite_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/error_report.hpp"

namespace diopi {

LogMessage message_of_check(const CaseResult& result, const std::string& options) {
    if (!is_failure(result.verdict)) {
        const char* how = result.verdict == Verdict::kPassed ? "succeed" : "not implemented";
        return {LogLevel::kInfo, fmt::format("Run runtime.{} {}: {}", result.op, how, result.reason)};
    }
    return {LogLevel::kError, fmt::format("Run runtime.{} {}: {}\n    repeat: {}", result.op, name(result.verdict),
                                          result.reason, repeat_command(result.case_id, options))};
}

std::string suite_json(const std::vector<CaseResult>& results, const RunFigures& figures) {
    Json json = parse_own(summary_json(results, figures));
    Json checks = Json::array();
    for (const CaseResult& result : results) {
        checks.push_back({{"case", result.case_id},
                          {"verdict", name(result.verdict)},
                          {"findings", result.reason},
                          {"seconds", result.seconds}});
    }
    json["checks"] = std::move(checks);
    return indented(json);
}

}  // namespace diopi
