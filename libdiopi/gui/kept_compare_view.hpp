/// A comparison as the window shows it: the tensors that its filter chooses, and their figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/log_axis.hpp"
#include "report/kept_records.hpp"

namespace diopi {

/// A tensor in the course of the error along a capture.
struct CoursePoint {
    const CompareRow* row = nullptr;
    double place = 0;  ///< between 0 and 1, in the order of the calls
    double angle = 0;  ///< between the tensors of both sides, in radians; 0 for one whose direction is noise
};

/// The angles of a course; equal tensors are at its low end.
inline constexpr LogAxis kAngles = {1e-9, 10};

class KeptCompareView {
 public:
    explicit KeptCompareView(KeptComparison comparison, std::string_view filter = "");
    KeptCompareView(KeptCompareView&&) = default;
    KeptCompareView& operator=(KeptCompareView&&) = default;
    // A copy would refer to the rows of the other.
    KeptCompareView(const KeptCompareView&) = delete;
    KeptCompareView& operator=(const KeptCompareView&) = delete;
    ~KeptCompareView() = default;

    /// Chooses the rows whose name, overload or layer the filter matches.
    void choose(std::string_view filter);

    [[nodiscard]] const KeptComparison& comparison() const { return comparison_; }
    [[nodiscard]] const std::vector<SkippedCalls>& skipped() const { return skipped_; }
    /// The numbers of compared tensors, of those that differ, and of calls in only one capture; the filter does not
    /// change them.
    [[nodiscard]] int64_t tensors() const { return tensors_; }
    [[nodiscard]] int64_t different() const { return different_; }
    [[nodiscard]] int64_t alone() const { return alone_; }
    /// Whether the comparison has the order of a capture's calls, and histograms of errors.
    [[nodiscard]] bool has_course() const { return has_course_; }
    [[nodiscard]] bool has_ulp() const { return has_ulp_; }

    [[nodiscard]] const std::vector<const CompareRow*>& differences() const { return differences_; }
    /// Those that differ are last, so that they are drawn above the others.
    [[nodiscard]] const std::vector<CoursePoint>& course() const { return course_; }
    [[nodiscard]] const std::vector<std::pair<std::string, OperatorDifferences>>& operators() const {
        return operators_;
    }

 private:
    KeptComparison comparison_;
    std::vector<SkippedCalls> skipped_;
    int64_t tensors_ = 0, different_ = 0, alone_ = 0;
    bool has_course_ = false, has_ulp_ = false;
    std::vector<const CompareRow*> differences_;
    std::vector<CoursePoint> course_;
    std::vector<std::pair<std::string, OperatorDifferences>> operators_;
};

}  // namespace diopi
