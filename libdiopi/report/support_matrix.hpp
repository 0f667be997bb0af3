/// The support matrix of a library, from the verdicts of a run: a row per operator and dtype, a column per step, layout
/// and kind of shape.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// The columns of the matrix. A case counts in one column for each of its steps, and in each of the others that
/// describe it.
enum class Aspect { kForward, kInplace, kBackward, kStrided, kChannelsLast, kEmpty, kZeroDim };
inline constexpr std::array kAspects = {Aspect::kForward,      Aspect::kInplace, Aspect::kBackward, Aspect::kStrided,
                                        Aspect::kChannelsLast, Aspect::kEmpty,   Aspect::kZeroDim};
/// "forward", "in place", "backward", "strided", "nhwc", "empty", "0-dim".
[[nodiscard]] std::string_view name(Aspect aspect);

/// The verdicts of the cases of one cell.
struct SupportCell {
    int64_t passed = 0, failed = 0, not_implemented = 0, skipped = 0;

    void add(Verdict verdict);
    [[nodiscard]] int64_t cases() const { return passed + failed + not_implemented + skipped; }
    /// "FAIL" if any failed, "yes" if all passed that were not skipped, "part" if some are not implemented, "no" if all
    /// are, "skip" if all were skipped, "." without a case.
    [[nodiscard]] std::string_view word() const;
};

struct SupportRow {
    std::string op, dtype;
    std::array<SupportCell, kAspects.size()> cells;
};

struct SupportMatrix {
    std::string backend;
    std::vector<SupportRow> rows;  ///< by operator and dtype
};

/// Dtypes of an operator whose cells have the same words.
struct SharedSupport {
    std::string op;
    std::vector<std::string> words, dtypes;
};

/// The aspects of a case as bits, 1 << Aspect.
[[nodiscard]] unsigned aspects_of(const CaseResult& result, const RunHeader& run);

/// Bad calls are left out: a refusal is no lack of support.
[[nodiscard]] SupportMatrix support_of(const Journal& journal);

[[nodiscard]] std::vector<SharedSupport> shared_support(const SupportMatrix& matrix);

enum class MatrixFormat { kTable, kMarkdown, kCsv, kJson };

/// Table and Markdown: dtypes of an operator with the same words share a row. CSV and JSON: a row per operator and
/// dtype with the counts of its cells.
[[nodiscard]] std::string matrix_text(const SupportMatrix& matrix, MatrixFormat format, const Screen& screen);

}  // namespace diopi
