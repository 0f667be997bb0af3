/// The run as the window shows it: the cases that its filter chooses, and their figures.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.hpp"
#include "report/error_report.hpp"
#include "report/function_figures.hpp"
#include "report/summary.hpp"
#include "report/support_matrix.hpp"

namespace diopi {

/// Whether a name contains one of the words of the filter, or the filter has none. Letter case does not count, and `*`
/// and `?` in a word stand for any characters, and for one.
[[nodiscard]] bool filter_matches(std::string_view filter, std::string_view name);

/// "running: 120 of 400 cases", "400 cases", "stopped after 120 of 400 cases: diopi test --resume runs the others".
[[nodiscard]] std::string progress_text(const Journal& journal, bool is_active);

class RunView {
 public:
    RunView() = default;
    /// The cases whose operator, or a function of whose steps, matches the filter; natural order of their ids.
    RunView(const Journal& journal, std::string_view filter);
    RunView(RunView&&) = default;
    RunView& operator=(RunView&&) = default;
    // A copy would refer to the results of the other.
    RunView(const RunView&) = delete;
    RunView& operator=(const RunView&) = delete;
    ~RunView() = default;

    [[nodiscard]] const RunHeader& header() const { return journal_.header; }
    [[nodiscard]] const std::vector<CaseResult>& results() const { return journal_.results; }
    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const std::map<std::string, Counts>& families() const { return families_; }
    [[nodiscard]] const std::vector<SharedSupport>& support() const { return support_; }
    /// Calls that failed, crashed or timed out.
    [[nodiscard]] const std::vector<Fault>& failures() const { return failures_; }
    /// Those functions that the filter matches, or whose operator it matches.
    [[nodiscard]] const FiguresByFunction& functions() const { return functions_; }

    /// The cases of a cell of the support matrix.
    [[nodiscard]] std::vector<const CaseResult*> cases_of(const SharedSupport& row, Aspect aspect) const;

 private:
    Journal journal_;
    Counts counts_;
    std::map<std::string, Counts> families_;
    std::vector<SharedSupport> support_;
    std::vector<Fault> failures_;
    FiguresByFunction functions_;
};

}  // namespace diopi
