#include "report/replay_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/error_report.hpp"

namespace diopi {

namespace {

/// The verdict and reason in the bundle.
std::string recorded_text(const ReplayRecord& record) {
    const CaseResult& result = record.result;
    return fmt::format("{}, {}: {} when it was saved by {}{}{}", result.case_id,
                       result.steps.empty() ? "" : result.steps.front().step, name(record.recorded), record.version,
                       record.reason.empty() ? "" : ": ", record.reason);
}

std::string replayed_failures(const CaseResult& result, const std::string& repeat) {
    std::string text;
    for (const Fault& fault : faults_of(result)) {
        text += failure_text(fault, " ") + "\n    " + fault.reason + "\n    repeat: " + repeat;
    }
    return text;
}

}  // namespace

std::vector<LogMessage> messages_of(const ReplayRecord& record, const std::vector<std::string>& notes,
                                    const std::string& repeat) {
    std::vector<LogMessage> messages = {{LogLevel::kInfo, recorded_text(record)}};
    for (const std::string& note : notes) messages.push_back({LogLevel::kWarning, note});
    if (is_failure(record.result.verdict)) {
        messages.push_back({LogLevel::kError, replayed_failures(record.result, repeat)});
        return messages;
    }
    for (LogMessage& message : messages_of(record.result, "")) messages.push_back(std::move(message));
    return messages;
}

std::string replay_json(const ReplayRecord& record, const RunFigures& figures, const std::vector<std::string>& notes,
                        const std::string& repeat) {
    Json json = parse_own(summary_json({record.result}, figures));
    for (Json& fault : json["not_passed"]) fault["repeat"] = repeat;
    json["recorded"] = {{"verdict", name(record.recorded)}, {"reason", record.reason},
                        {"backend", record.backend},        {"library", record.file},
                        {"library_hash", record.file_hash}, {"version", record.version}};
    json["notes"] = notes;
    return indented(json);
}

}  // namespace diopi
