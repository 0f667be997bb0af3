#include "report/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "report/terminal.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

/// A case whose forward step passed and whose backward step has `verdict`.
CaseResult result_of(Verdict verdict) {
    CaseResult result;
    result.case_id = "ops/g.relu.1";
    result.op = "relu";
    result.dtype = "float32";
    result.verdict = verdict;
    result.tensors = {{"input", "float32", {4}}};
    result.steps = {{"relu", "forward", Verdict::kPassed, "", {}, 0},
                    {"relu_backward", "backward", verdict, "too far", {}, 0}};
    return result;
}

std::string content_of(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    return text;
}

/// A pseudo terminal: text written to `stream` is read from `master`.
struct PseudoTerminal {
    int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    std::FILE* stream = nullptr;
    PseudoTerminal() {
        if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return;
        stream = std::fopen(::ptsname(master), "w");
        const winsize size = {24, 100, 0, 0};
        if (stream != nullptr) ::ioctl(::fileno(stream), TIOCSWINSZ, &size);
    }
    ~PseudoTerminal() {
        if (stream != nullptr) std::fclose(stream);
        ::close(master);
    }
    PseudoTerminal(const PseudoTerminal&) = delete;
    PseudoTerminal& operator=(const PseudoTerminal&) = delete;
    [[nodiscard]] std::string read() const {
        // The text may come in several pieces.
        std::string text;
        for (pollfd ready = {master, POLLIN, 0}; ::poll(&ready, 1, 100) == 1 && (ready.revents & POLLIN) != 0;) {
            char buffer[4096];
            const ssize_t got = ::read(master, buffer, sizeof buffer);
            if (got <= 0) break;
            text.append(buffer, static_cast<size_t>(got));
        }
        return text;
    }
};

}  // namespace

TEST_CASE("a log line has local time with milliseconds after a comma", "[report][console]") {
    std::tm parts = {};
    parts.tm_year = 122;
    parts.tm_mon = 8;
    parts.tm_mday = 29;
    parts.tm_hour = 16;
    parts.tm_min = 40;
    parts.tm_sec = 40;
    parts.tm_isdst = -1;
    const auto when = std::chrono::system_clock::from_time_t(std::mktime(&parts)) + std::chrono::milliseconds(50);
    CHECK(log_line(LogLevel::kInfo, "Run diopi_functions.relu succeed", when) ==
          "2022-09-29 16:40:40,050 - DIOPI-Test - INFO - Run diopi_functions.relu succeed");
}

TEST_CASE("a case gives a result for each of its functions", "[report][console]") {
    const auto passed = messages_of(result_of(Verdict::kPassed), "");
    REQUIRE(passed.size() == 2);
    CHECK(passed[1].text == "Run diopi_functions.relu_backward succeed");
    const auto failed = messages_of(result_of(Verdict::kFailed), "--seed 7");
    REQUIRE(failed.size() == 2);
    CHECK(failed[1].level == LogLevel::kError);
    CHECK(failed[1].text ==
          "Run diopi_functions.relu_backward failed. TestTag: [float32, backward]  TensorInfo : [(input, float32, "
          "(4,))]\n"
          "    too far\n"
          "    repeat: diopi test --case ops/g.relu.1 --seed 7");
    CaseResult saved = result_of(Verdict::kFailed);
    saved.steps[1].bundle = "bad/a-backward.h5";
    CHECK_THAT(messages_of(saved, "")[1].text,
               Contains("\n    repeat: diopi test --case ops/g.relu.1\n    bundle: bad/a-backward.h5"));
    CHECK(messages_of(result_of(Verdict::kSkipped), "")[1].text ==
          "Run diopi_functions.relu_backward skipped: too far");
    CHECK(messages_of(result_of(Verdict::kNotImplemented), "")[1].text ==
          "diopi_functions.relu_backward not implemented");
}

TEST_CASE("the bar fills its width", "[report][console]") {
    const std::string half = progress_text({200, 400, 3, 12, 0.5}, 80);
    CHECK(display_width(half) == 80);
    CHECK_THAT(half, Contains("####....") && Contains("200/400  3 failed  0:12 elapsed, 0:12 left"));
    CHECK_THAT(progress_text({0, 400, 0, 3700, 0}, 80), Contains("1:01:40 elapsed") && !Contains("left"));
    CHECK(display_width(progress_text({200, 400, 3, 12, 0.5}, 20)) <= 20);
}

TEST_CASE("no bar and no escape sequence reaches a file", "[report][console]") {
    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    {
        Console console({file, LogLevel::kInfo, true});
        console.start(10);
        console.advance(5, 1);
        console.log(LogLevel::kDebug, "dropped");
        console.print("a line");
    }
    CHECK(content_of(file) == "a line\n");
    std::fclose(file);
}

TEST_CASE("on a terminal, lines appear above the bar", "[report][console]") {
    const PseudoTerminal terminal;
    if (terminal.stream == nullptr || !is_terminal(terminal.stream)) return;
    CHECK(terminal_width(terminal.stream) == 100);
    Console console({terminal.stream, LogLevel::kInfo, true});
    const auto start = std::chrono::steady_clock::now();
    console.start(10);
    console.print("a line");
    console.advance(5, 0);
    const bool within_one_redraw = std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100);
    console.finish();
    const std::string text = terminal.read();
    CHECK_THAT(text, Contains("0/10") && Contains("\r\x1b[Ka line\r\n\r\x1b[K["));
    CHECK_THAT(text, Catch::Matchers::EndsWith("\r\x1b[K"));
    if (within_one_redraw) CHECK_THAT(text, !Contains("5/10"));
}

}  // namespace diopi
