/// Writes one case as a case file (docs/cases.md), which the reader turns into the same case again.
#pragma once

#include <string>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// The text of a case file with this case alone; it becomes number 0 of its group. Properties without a place in the
/// file are left out: skipped steps, the layout and four_bytes of options, a tolerance that replaces an accuracy class.
/// `varied` and `backward` follow from the options of a run and from the tensors. Bad input for captured values, for a
/// list whose tensors differ in dtype, and for values that belong to a list or a tensor without elements.
[[nodiscard]] Result<std::string> case_file_text(const Case& c);

/// The case that a run of its file would have.
[[nodiscard]] Result<Case> reread(const Case& c);

}  // namespace diopi
