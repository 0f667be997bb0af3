/// The lines of a run in the standard's own format, and a progress bar below them.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/record.hpp"

namespace diopi {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogMessage {
    LogLevel level = LogLevel::kInfo;
    std::string text;
};

/// "2022-09-29 16:40:40,550 - DIOPI-Test - INFO - `text`": local time, milliseconds behind a comma.
[[nodiscard]] std::string log_line(LogLevel level, std::string_view text, std::chrono::system_clock::time_point when);

/// The lines of a finished case: a message per function that ran; after a failure its reason and the command
/// that repeats it (with `options` appended). `is_verbose`: with its id, dtype and shapes where it passed.
[[nodiscard]] std::vector<LogMessage> messages_of(const CaseResult& result, const std::string& options,
                                                  bool is_verbose = false);

/// The progress of a run.
struct Progress {
    int64_t done = 0, total = 0, failures = 0;
    double elapsed = 0;  ///< seconds
    double share = 0;    ///< of the work, from 0 to 1
};

/// The bar in `width` columns: "[####....]  120/400  3 failed  0:12 elapsed, 0:28 left".
[[nodiscard]] std::string progress_text(const Progress& progress, int width);

/// Writes log lines to a stream and keeps a progress bar in the last line of it, when it is a terminal.
/// For one thread; the destructor removes the bar.
class Console {
 public:
    struct Options {
        std::FILE* stream = stdout;
        LogLevel least = LogLevel::kInfo;  ///< messages below it are dropped
        bool bar = true;                   ///< no bar outside a terminal in any case
    };

    explicit Console(Options options);
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    void log(LogLevel level, std::string_view text);
    /// Text without time and level, printed above the bar; a newline is added.
    void print(std::string_view text);
    /// Starts the bar's clock.
    void start(int64_t total);
    /// Updates the progress; draws at most ten times a second, and at each failure. `share` of the work is done; by
    /// default the share of the items.
    void advance(int64_t done, int64_t failures, std::optional<double> share = {});
    /// Seconds since start.
    [[nodiscard]] double elapsed() const;
    /// Whether a bar is drawn, which is worth the estimate of the work.
    [[nodiscard]] bool has_bar() const { return bar_; }
    /// Removes the bar.
    void finish();

 private:
    void erase();
    void draw();

    Options options_;
    bool bar_ = false;
    bool drawn_ = false;
    Progress progress_;
    std::chrono::steady_clock::time_point started_, drawn_at_;
};

}  // namespace diopi
