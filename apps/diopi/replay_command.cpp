#include "replay_command.hpp"

#include <fmt/format.h>

#include "bundle_origin.hpp"
#include "replay/replay.hpp"
#include "report/error_report.hpp"
#include "report/replay_report.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

std::string same_replay_text(const ReplayCommand& options) {
    std::string text = "diopi test --replay " + shell_quoted(options.file);
    if (options.common.impl != CommonOptions().impl) text += " --impl " + shell_quoted(options.common.impl);
    if (const std::string library = repeat_library_options(options.common.loading); !library.empty())
        text += " " + library;
    if (const std::string target = repeat_target_options(options.target); !target.empty()) text += " " + target;
    if (options.checks) text += fmt::format(" --checks {}", fmt::join(*options.checks, " "));
    if (!options.memory_limit.empty()) text += " --memory-limit " + options.memory_limit;
    if (const std::string timeout = repeat_timeout(options.timeout_s); !timeout.empty()) text += " " + timeout;
    return text;
}

/// The differences of this replay from the run that saved the bundle.
std::vector<std::string> differences(const BundleOrigin& then, const BundleOrigin& now) {
    if (then.backend != now.backend) {
        return {
            fmt::format("the bundle was saved with --impl {} ({}), this is {}", then.backend, then.file, now.backend)};
    }
    if (then.file_hash == now.file_hash) return {};
    return {fmt::format("the library is not the one that the bundle was saved with: {} has checksum {}, {} had {}",
                        now.file, now.file_hash, then.file, then.file_hash)};
}

}  // namespace

int run_replay_command(const ReplayCommand& options) {
    if (!options.misplaced.empty()) {
        return report_error(bad_input(options.misplaced + " cannot be used with --replay, which runs the call of the "
                                                          "bundle; leave it out"));
    }
    auto target = Target::find(options.common.impl, options.target, options.common.loading, memory_check_options());
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
    const ReplayRecord record = to_record(*done);
    if (options.common.json) {
        const RunFigures figures{std::string(backend.name()), options.common.seed, done->result.seconds, ""};
        fmt::print("{}\n", replay_json(record, figures, notes, repeat));
    } else {
        Console console({stdout, options.common.quiet ? LogLevel::kError : LogLevel::kInfo, false});
        for (const LogMessage& message : messages_of(record, notes, repeat)) console.log(message.level, message.text);
        fmt::print("\n{}\n", summary_line(count({done->result}), done->result.seconds));
    }
    return static_cast<int>(is_failure(done->result.verdict) ? Exit::kFailures : Exit::kPassed);
}

}  // namespace diopi
