#include "report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "report/error_report.hpp"
#include "report/terminal.hpp"

namespace diopi {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kNarrowestBar = 10;

const char* name_of(LogLevel level) {
    switch (level) {
        case LogLevel::kDebug:
            return "DEBUG";
        case LogLevel::kInfo:
            return "INFO";
        case LogLevel::kWarning:
            return "WARNING";
        case LogLevel::kError:
            return "ERROR";
    }
    return "";
}

/// "0:28", "1:02:03".
std::string clock_text(double seconds) {
    const auto s = static_cast<int64_t>(std::lround(std::clamp(seconds, 0.0, 1e9)));
    if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

LogMessage message_of(const Fault& fault, const std::string& options) {
    switch (fault.verdict) {
        case Verdict::kSkipped:
            return {LogLevel::kInfo, fmt::format("Run diopi_functions.{} skipped: {}", fault.function, fault.reason)};
        case Verdict::kNotImplemented:
            return {LogLevel::kWarning, fmt::format("diopi_functions.{} not implemented", fault.function)};
        case Verdict::kAdvice:
            return {LogLevel::kWarning,
                    fmt::format("diopi_functions.{} should refuse a bad call: {}\n    repeat: {}", fault.function,
                                fault.reason, repeat_command(fault.result->case_id, options))};
        case Verdict::kPassed:
        case Verdict::kFailed:
        case Verdict::kCrashed:
        case Verdict::kTimeout:
            break;
    }
    std::string text = failure_text(fault, " ");
    if (!fault.reason.empty()) text += "\n    " + fault.reason;
    text += "\n    repeat: " + repeat_command(fault.result->case_id, options);
    if (!fault.bundle.empty()) text += "\n    bundle: " + fault.bundle;
    return {LogLevel::kError, std::move(text)};
}

}  // namespace

std::string log_line(LogLevel level, std::string_view text, std::chrono::system_clock::time_point when) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
    std::tm parts = {};
    localtime_r(&seconds, &parts);
    char date[32] = {};
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts);
    return fmt::format("{},{:03} - DIOPI-Test - {} - {}", date, since % 1000, name_of(level), text);
}

std::vector<LogMessage> messages_of(const CaseResult& result, const std::string& options, bool is_verbose) {
    std::vector<LogMessage> messages;
    const std::string details =
        is_verbose ? fmt::format("  {}  [{}]  {}", result.case_id, result.dtype, tensor_info(result.tensors)) : "";
    for (const StepResult& step : result.steps) {
        if (step.verdict != Verdict::kPassed) continue;
        messages.push_back({LogLevel::kInfo, fmt::format("Run diopi_functions.{} succeed{}", step.function, details)});
        if (step.warning.empty()) continue;
        messages.push_back(
            {LogLevel::kWarning, fmt::format("diopi_functions.{} {}: {}", step.function, step.step, step.warning)});
    }
    for (const Fault& fault : faults_of(result)) messages.push_back(message_of(fault, options));
    return messages;
}

std::string progress_text(const Progress& progress, int width) {
    const double share = std::clamp(progress.share, 0.0, 1.0);
    std::string tail = fmt::format("  {}/{}  {} failed  {} elapsed", progress.done, progress.total, progress.failures,
                                   clock_text(progress.elapsed));
    if (share > 0) tail += fmt::format(", {} left", clock_text(progress.elapsed * (1 - share) / share));
    const int cells = width - display_width(tail) - 2;
    if (cells < kNarrowestBar) return shorten(tail.substr(2), width);
    const auto filled = static_cast<size_t>(share * cells);
    return "[" + std::string(filled, '#') + std::string(static_cast<size_t>(cells) - filled, '.') + "]" + tail;
}

Console::Console(Options options) : options_(options), bar_(options.bar && is_terminal(options.stream)) {}

Console::~Console() { finish(); }

void Console::log(LogLevel level, std::string_view text) {
    if (level < options_.least) return;
    print(log_line(level, text, std::chrono::system_clock::now()));
}

void Console::print(std::string_view text) {
    const bool was_drawn = drawn_;
    erase();
    std::fwrite(text.data(), 1, text.size(), options_.stream);
    std::fputc('\n', options_.stream);
    if (was_drawn) draw();
}

void Console::start(int64_t total) {
    progress_ = {0, total, 0, 0, 0};
    started_ = std::chrono::steady_clock::now();
    draw();
}

void Console::advance(int64_t done, int64_t failures, std::optional<double> share) {
    const bool is_news = failures != progress_.failures;
    const auto total = static_cast<double>(std::max<int64_t>(progress_.total, 1));
    progress_.done = done;
    progress_.share = share.value_or(static_cast<double>(done) / total);
    progress_.failures = failures;
    if (is_news || std::chrono::steady_clock::now() - drawn_at_ >= kRedraw) draw();
}

double Console::elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void Console::finish() {
    erase();
    progress_.total = 0;
    std::fflush(options_.stream);
}

void Console::erase() {
    if (!drawn_) return;
    std::fputs("\r\x1b[K", options_.stream);
    drawn_ = false;
}

void Console::draw() {
    if (!bar_ || progress_.total <= 0) return;
    drawn_at_ = std::chrono::steady_clock::now();
    progress_.elapsed = elapsed();
    // One column stays free, so that the cursor does not wrap.
    const std::string text = "\r\x1b[K" + progress_text(progress_, terminal_width(options_.stream) - 1);
    std::fputs(text.c_str(), options_.stream);
    std::fflush(options_.stream);
    drawn_ = true;
}

}  // namespace diopi
