#include "replay_command.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bundle_origin.hpp"
#include "replay/replay.hpp"
#include "report/console.hpp"
#include "report/error_report.hpp"
#include "report/summary.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

std::string same_replay_text(const ReplayCommand& options) {
    std::string text = "diopi test --replay " + shell_quoted(options.file);
    if (options.common.impl != CommonOptions().impl) text += " --impl " + shell_quoted(options.common.impl);
    if (const std::string library = repeat_library_options(options.common.loading); !library.empty())
        text += " " + library;
    if (const std::string target = repeat_target_options(options.target); !target.empty()) text += " " + target;
    if (options.checks) text += fmt::format(" --checks {}", fmt::join(*options.checks, " "));
    return text;
}

/// How this replay is not the run that saved the bundle.
std::vector<std::string> differences(const BundleOrigin& then, const BundleOrigin& now) {
    if (then.backend != now.backend) {
        return {
            fmt::format("the bundle was saved with --impl {} ({}), this is {}", then.backend, then.file, now.backend)};
    }
    if (then.file_hash == now.file_hash) return {};
    return {fmt::format("the library is not the one that the bundle was saved with: {} has checksum {}, {} had {}",
                        now.file, now.file_hash, then.file, then.file_hash)};
}

std::string replay_text(const CaseResult& result, const std::string& repeat) {
    std::string text;
    for (const Fault& fault : faults_of(result)) {
        text += failure_text(fault, " ") + "\n    " + fault.reason + "\n    repeat: " + repeat;
    }
    return text;
}

void log_result(Console& console, const CaseResult& result, const std::string& repeat) {
    if (is_failure(result.verdict)) {
        console.log(LogLevel::kError, replay_text(result, repeat));
        return;
    }
    for (const LogMessage& message : messages_of(result, "")) console.log(message.level, message.text);
}

void log_notes(Console& console, const Replay& replay, const std::vector<std::string>& notes) {
    console.log(LogLevel::kInfo,
                fmt::format("{}, {}: {} when it was saved by {}{}{}", replay.result.case_id,
                            replay.result.steps.empty() ? "" : replay.result.steps.front().step, name(replay.recorded),
                            replay.origin.version, replay.reason.empty() ? "" : ": ", replay.reason));
    for (const std::string& note : notes) console.log(LogLevel::kWarning, note);
}

std::string replay_json(const Replay& replay, const RunFigures& figures, const std::string& repeat,
                        const std::vector<std::string>& notes) {
    Json json = Json::parse(summary_json({replay.result}, figures));
    for (Json& fault : json["not_passed"]) fault["repeat"] = repeat;
    json["recorded"] = {{"verdict", name(replay.recorded)},        {"reason", replay.reason},
                        {"backend", replay.origin.backend},        {"library", replay.origin.file},
                        {"library_hash", replay.origin.file_hash}, {"version", replay.origin.version}};
    json["notes"] = notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

int run_replay_command(const ReplayCommand& options) {
    if (!options.misplaced.empty()) {
        return report_error(bad_input(options.misplaced + " has no meaning with --replay, which runs what the bundle "
                                                          "holds; leave it out"));
    }
    auto target = Target::find(options.common.impl, options.target, options.common.loading);
    if (!target.ok()) return report_error(target.error());
    const Backend& backend = target->backend();
    ReplayOptions replay;
    replay.file = options.file;
    replay.backend = &backend;
    replay.adaptor = target->adaptor();
    if (target->sim() != nullptr) replay.interceptors.push_back(target->sim());
    if (options.checks) {
        auto checks = Checks::parse(*options.checks);
        if (!checks.ok()) return report_error(checks.error());
        replay.checks = *checks;
    }
    replay.pool.timeout_s = options.timeout_s;
    replay.pool.echo_errors = options.common.debug_level > 1;
    if (!options.memory_limit.empty()) replay.pool.memory_limit = *parse_memory_size(options.memory_limit);
    replay.after_case = [&](const std::string& id) { return target->leaks("in case " + id); };
    const auto origin = bundle_origin(backend);
    if (!origin.ok()) return report_error(origin.error());

    install_interrupt_handler();
    const auto done = replay_bundle(replay);
    if (!done.ok()) return report_error(done.error());
    if (done->interrupted) {
        fmt::print(stderr, "diopi: interrupted; run it again\n");
        return static_cast<int>(Exit::kInterrupted);
    }
    fmt::print(stderr, "{}", done->result.notes);
    const std::vector<std::string> notes = differences(done->origin, *origin);
    const std::string repeat = same_replay_text(options);
    if (options.common.json) {
        const RunFigures figures{std::string(backend.name()), options.common.seed, done->result.seconds, ""};
        fmt::print("{}\n", replay_json(*done, figures, repeat, notes));
    } else {
        Console console({stdout, options.common.quiet ? LogLevel::kError : LogLevel::kInfo, false});
        log_notes(console, *done, notes);
        log_result(console, done->result, repeat);
        fmt::print("\n{}\n", summary_line(count({done->result}), done->result.seconds));
    }
    return static_cast<int>(is_failure(done->result.verdict) ? Exit::kFailures : Exit::kPassed);
}

}  // namespace diopi
