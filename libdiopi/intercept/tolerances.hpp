/// Tolerances of comparisons, by operator and dtype.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

struct AbsRel {
    double atol = 0, rtol = 0;
    bool operator==(const AbsRel&) const = default;
};

/// Parses "1e-3,1e-4": atol and rtol; one number is for both.
[[nodiscard]] Result<AbsRel> parse_tolerance(std::string_view text);

/// The dtype in an option or a variable; the error lists the known ones.
[[nodiscard]] Result<Dtype> parse_tolerance_dtype(std::string_view text);

/// The tolerance for a call and dtype is the first of these: options for operator and dtype, for the operator, for the
/// dtype, for all; the environment's in the same order; the default of the dtype.
class ToleranceTable {
 public:
    enum class Source { kOption, kEnvironment };

    /// Adds an option: "linear:float16=1e-3,1e-4", "linear=1e-3", "float16=1e-3", "1e-3,1e-4".
    Status add_option(const std::string& text);
    /// Operator and dtype may be empty.
    void add(Source source, std::string op, std::optional<Dtype> dtype, AbsRel tolerance);
    [[nodiscard]] AbsRel find(const Call& call, Dtype dtype) const;
    /// The operators in options.
    [[nodiscard]] std::vector<std::string> option_operators() const;

    /// float64 1e-8, float32 1e-4, float16 and bfloat16 1e-2 and 5e-2, as atol and rtol; integers and bool 0.
    [[nodiscard]] static AbsRel standard(Dtype dtype);

 private:
    struct Entry {
        Source source;
        std::string op;
        std::optional<Dtype> dtype;
        AbsRel tolerance;
    };
    std::vector<Entry> entries_;
};

}  // namespace diopi
