#include "gui/kept_compare_view.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "gui/run_view.hpp"

namespace diopi {

namespace {

bool filter_keeps_row(std::string_view filter, const CompareRow& row) {
    return filter_matches(filter, row.name) || filter_matches(filter, row.overload) ||
           filter_matches(filter, layers_of(row));
}

/// sqrt(2 (1 - cosine)); the largest angle for a cosine that is NaN.
double angle_of(const CompareRow& row) {
    if (!row.cosine) return 0;
    return std::isnan(*row.cosine) ? kAngles.high : std::sqrt(2 * std::max(0.0, 1 - *row.cosine));
}

std::vector<CoursePoint> chosen_course(const std::vector<CompareRow>& rows, std::string_view filter) {
    const std::vector<const CompareRow*> course = course_of(rows);
    std::vector<CoursePoint> points;
    for (size_t i = 0; i < course.size(); ++i) {
        if (!filter_keeps_row(filter, *course[i])) continue;
        const double place = static_cast<double>(i + 1) / static_cast<double>(course.size() + 1);
        points.push_back({course[i], place, angle_of(*course[i])});
    }
    std::ranges::stable_partition(points, [](const CoursePoint& point) { return point.row->allclose; });
    return points;
}

}  // namespace

KeptCompareView::KeptCompareView(KeptComparison comparison, std::string_view filter)
    : comparison_(std::move(comparison)),
      skipped_(skipped_in(comparison_.rows)),
      has_course_(!course_of(comparison_.rows).empty()) {
    for (const CompareRow& row : comparison_.rows) {
        alone_ += row.only_in.empty() ? 0 : 1;
        if (!row.compared()) continue;
        ++tensors_;
        different_ += row.allclose ? 0 : 1;
        has_ulp_ |= row.ulp && row.ulp->total() > 0;
    }
    choose(filter);
}

void KeptCompareView::choose(std::string_view filter) {
    std::vector<CompareRow> chosen;
    differences_.clear();
    for (const CompareRow& row : comparison_.rows) {
        if (!filter_keeps_row(filter, row)) continue;
        if (row.differs()) differences_.push_back(&row);
        if (!filter.empty()) chosen.push_back(row);
    }
    course_ = chosen_course(comparison_.rows, filter);
    operators_ = by_operator(filter.empty() ? comparison_.rows : chosen);
}

}  // namespace diopi
