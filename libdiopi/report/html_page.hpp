/// Runs as one page of HTML that needs no network: diopi report --html.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/journal.hpp"
#include "json/json_text.hpp"
#include "report/run_diff.hpp"

namespace diopi {

struct KeptReport;

/// The parts of the page, from the files in report/page. {{...}} in the first one are places for the others.
extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;

/// A run as the page's script shows it. Every kind of run has `kind`, `title`, `label`, `heading`, `environment`,
/// `command`, `summary` and `failures` (what makes the exit code 1); the rest is what its kind shows.
///
/// For a test: cases are grouped by operator, dtype, verdict and aspects, and each group has the numbers at the end of
/// its ids as ranges, so that the page stays small. `diff`, with what changed from an older run, may be null.
[[nodiscard]] Json page_data(const Journal& journal, const RunDiff* diff = nullptr);
/// For profile, compare and fallback-sim; bad input if the report lacks a member.
[[nodiscard]] Result<Json> page_data(const KeptReport& kept);

/// A command line as a short title: without the program, --run and what is beyond 40 characters.
[[nodiscard]] std::string page_label(const std::vector<std::string>& command);

/// The page of one run or several, of which it shows one at a time.
class HtmlPage {
 public:
    HtmlPage();

    void add(const Journal& journal, const RunDiff* diff = nullptr);
    Status add(const std::vector<KeptReport>& reports);

    /// "diopi test: cpu: 6 cases: 6 passed (0.1 s of work in its cases).": each run by its title and its summary.
    [[nodiscard]] std::vector<std::string> lines() const;
    /// Whether a run has something that makes its command's exit code 1.
    [[nodiscard]] bool has_failures() const;
    [[nodiscard]] std::string text() const;
    /// Writes the page in one step.
    Status write(const std::string& path) const;

 private:
    std::shared_ptr<Json> runs_;
};

}  // namespace diopi
