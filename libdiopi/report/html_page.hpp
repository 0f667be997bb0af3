/// A run as one page of HTML that needs no network: diopi report --html.
#pragma once

#include <string>

#include "core/status.hpp"
#include "journal/journal.hpp"
#include "json/json_text.hpp"
#include "report/run_diff.hpp"

namespace diopi {

/// The parts of the page, from the files in report/page. {{...}} in the first one are places for the others.
extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;

/// The data that the page's script shows. Cases are grouped by operator, dtype, verdict and aspects, and each group has
/// the numbers at the end of its ids as ranges, so that the page stays small.
[[nodiscard]] Json page_data(const Journal& journal);

/// The page. Its cases are in natural order of their ids. `diff`, with what changed from an older run, may be null.
[[nodiscard]] std::string html_page(const Journal& journal, const RunDiff* diff = nullptr);

/// Writes the page in one step.
Status write_html(const std::string& path, const Journal& journal, const RunDiff* diff = nullptr);

}  // namespace diopi
