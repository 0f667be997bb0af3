/// How compare prints what it found.
#pragma once

#include <string>
#include <vector>

#include "replay/compare_run.hpp"

namespace diopi {

/// The two lines of a compared tensor as the standard's users know them; one that differs is followed by a line for
/// each input and output of its call.
[[nodiscard]] std::string seed_lines(const CompareRow& row);

/// Columns forward_id, name, allclose, cosine_similarity, max_abs_diff, max_relative_diff, atol, rtol, error_info.
[[nodiscard]] std::string compare_csv(const std::vector<CompareRow>& rows);

/// By operator; then the first calls that differ; then what was not compared, and why. Histograms where there are any.
/// With `only_differences` neither operators nor histograms.
void print_compare(const std::vector<CompareRow>& rows, std::string_view backend, std::string_view against,
                   bool only_differences);

/// Summary and rows.
[[nodiscard]] std::string compare_json(const std::vector<CompareRow>& rows, std::string_view backend,
                                       std::string_view against);

}  // namespace diopi
