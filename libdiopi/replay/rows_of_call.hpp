/// Makes result rows of a compared call.
#pragma once

#include <functional>
#include <string>

#include "intercept/autocompare.hpp"
#include "journal/compare_row.hpp"

namespace diopi {

/// The part of a row about its call.
[[nodiscard]] CompareRow row_of(const Call& call, const std::string& where);

/// Reports a row per tensor of a compared call; `row` has their common part. If one differs and `save_folder` is not
/// empty, both sides are saved in a file there.
Status report_tensors(const ComparedCall& compared, const CompareRow& row, const std::string& save_folder,
                      const std::function<void(const CompareRow&)>& on_row);

}  // namespace diopi
