/// Reports of compare's rows: tables, CSV, JSON, and the lines in the standard's own format.
#pragma once

#include <string>
#include <vector>

#include "journal/compare_row.hpp"
#include "report/compare_summary.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// The two lines of a compared tensor in the standard's own format; one that differs is followed by a line for each
/// input and output of its call.
[[nodiscard]] std::string compare_seed_lines(const CompareRow& row);

/// Columns forward_id, name, allclose, cosine_similarity, max_abs_diff, max_relative_diff, atol, rtol, error_info.
[[nodiscard]] std::string compare_csv(const std::vector<CompareRow>& rows);

/// A table by operator; the first calls that differ; the calls that were not compared, with reasons; and histograms, if
/// any. With `only_differences`, no operators and no histograms.
[[nodiscard]] std::string compare_text(const std::vector<CompareRow>& rows, const CompareSides& sides,
                                       bool only_differences, const Screen& screen);

/// Summary and rows.
[[nodiscard]] std::string compare_json(const std::vector<CompareRow>& rows, const CompareSides& sides);

}  // namespace diopi
