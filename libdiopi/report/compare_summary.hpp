/// Summaries of compare's rows: by operator, and in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "journal/compare_row.hpp"

namespace diopi {

/// The compared sides: backends, or the files of two captures.
struct CompareSides {
    std::string backend, against;
};

struct OperatorDifferences {
    std::set<std::string> calls;  ///< their places
    int64_t tensors = 0, different = 0;
    std::optional<double> cosine, max_rel;  ///< the worst of the tensors that have them
    double max_abs = 0;
    UlpHistogram ulp, other_ulp;

    /// The side that is closer to the exact values, "equal", or nothing without histograms.
    [[nodiscard]] std::string closer(const CompareSides& sides) const;
};

/// Operators in the order of their first calls.
[[nodiscard]] std::vector<std::pair<std::string, OperatorDifferences>> by_operator(const std::vector<CompareRow>& rows);

/// Calls that were not compared for one reason.
struct SkippedCalls {
    std::string reason;
    std::string first;  ///< place of the first call
    int64_t calls = 0;
    std::vector<std::pair<std::string, int64_t>> overloads;  ///< in the order of their first calls

    /// "nms x2, roll"
    [[nodiscard]] std::string names() const;
};
[[nodiscard]] std::vector<SkippedCalls> skipped_in(const std::vector<CompareRow>& rows);

/// "411 calls on cpu and reference: 1 of 902 tensors differ, the first at call 3, relu (layer1.0.relu)."
[[nodiscard]] std::string compare_summary(const std::vector<CompareRow>& rows, const CompareSides& sides);

/// "a", or "a and b" if two captures have different names for the layer.
[[nodiscard]] std::string layers_of(const CompareRow& row);

/// The casts before a tensor was compared, and why it differs.
[[nodiscard]] std::string note_of(const CompareRow& row);

/// What is wrong with a row that differs: note_of(), or why only one capture has the call.
[[nodiscard]] std::string difference_text(const CompareRow& row);
/// "1e-05 + 0.001 |x|"; empty for a call in only one capture.
[[nodiscard]] std::string allowed_text(const CompareRow& row);

/// The compared tensors of a capture in the order of its calls; none of cases, which have no order.
[[nodiscard]] std::vector<const CompareRow*> course_of(const std::vector<CompareRow>& rows);

}  // namespace diopi
