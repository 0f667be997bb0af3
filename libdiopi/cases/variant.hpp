/// Variants of a case for options of a run: other values, empty or 0-dim tensors, indices of 4 bytes, other layouts.
/// The schema row states what a function takes; a case that an option cannot change is skipped with the reason. Ids
/// stay: the options are part of the command that repeats a case.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// Captured values for an argument of an operator: contiguous, in host memory, of a wide dtype (core/convert.hpp), not
/// empty. Null when there are none.
using CapturedValues =
    std::function<Result<std::shared_ptr<const Tensor>>(std::string_view op, std::string_view argument)>;

struct VariantOptions {
    /// Replaces the fill of every floating, complex or integer tensor, except sparse tensors and those whose values
    /// have a meaning (schema.hpp, `!`), are given, are masks or must not be read. Where the case runs a function of
    /// accuracy class D or E, kSpecial is kSpecialSums for its first tensor and kSpecialFactors for the others (for all
    /// tensors of a transposed convolution that has gradients): the results of padding times infinity, or of a
    /// difference that cancels times a huge factor, are not defined.
    std::optional<Fill> fill = {};
    CapturedValues captured = {};  ///< with Fill::kCaptured
    bool empty = false;            ///< a dim of size 0
    bool zero_dim = false;         ///< 0-dim tensors
    bool four_bytes = false;       ///< indices of 4 bytes instead of 8
    LayoutOptions layout = {};

    /// Whether any option is set.
    [[nodiscard]] bool any() const;
};

/// The changed case, or the reason why it is left out.
struct VariedCase {
    Case changed;
    std::string skip_reason;  ///< empty: none
};

/// Applies every option that is set. A case whose functions the standard lacks is not changed: the run reports it.
/// Fails only when captured values cannot be read.
[[nodiscard]] Result<VariedCase> vary(const Case& c, const VariantOptions& options);

/// Varies each of the cases in place. Those that are left out do not change; the result has their reasons by id.
[[nodiscard]] Result<std::map<std::string, std::string>> vary(std::vector<Case>& cases, const VariantOptions& options);

}  // namespace diopi
