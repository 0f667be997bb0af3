/// The report of `diopi gen`: baseline files, and counts of cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baseline/generated_file.hpp"
#include "cases/case_totals.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// "data/baselines/add.h5: 12 cases, 3.4 KiB"; "" for a file without requested cases.
[[nodiscard]] std::string generated_line(const GeneratedFile& file);
/// The sum of cases and bytes of all files; `folder` holds them.
[[nodiscard]] std::string generated_summary(const std::vector<GeneratedFile>& files, const std::string& folder,
                                            uint64_t seed);
[[nodiscard]] std::string generated_json(const std::vector<GeneratedFile>& files);

/// A list of texts.
[[nodiscard]] std::string names_json(const std::vector<std::string>& names);

/// A row per group and model, then the operators that nothing implements. `bytes` is the size of the cases' tensors.
[[nodiscard]] std::string totals_report(const CaseTotals& totals, int64_t bytes, const Screen& screen);
[[nodiscard]] std::string totals_json(const CaseTotals& totals, int64_t bytes);

}  // namespace diopi
