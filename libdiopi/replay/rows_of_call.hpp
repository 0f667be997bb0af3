/// From a call that was compared to the rows that say what came of it.
#pragma once

#include <functional>
#include <string>

#include "intercept/autocompare.hpp"
#include "journal/compare_row.hpp"

namespace diopi {

/// The part of a row about its call.
[[nodiscard]] CompareRow row_of(const Call& call, const std::string& where);

/// A row per tensor of a compared call; `row` is what they have in common. Where one differs and `save_folder` is not
/// empty, a file there with both sides.
Status report_tensors(const ComparedCall& compared, const CompareRow& row, const std::string& save_folder,
                      const std::function<void(const CompareRow&)>& on_row);

}  // namespace diopi
