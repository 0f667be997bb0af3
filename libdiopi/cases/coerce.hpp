/// Converts the parameter of a case, or the default of a schema row, to the boxed argument of a C function.
#pragma once

#include "cases/case.hpp"
#include "core/status.hpp"
#include "core/value.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// The value of `param` for the argument: a number for a list of one, "mean" for a reduction, "inf" for a floating
/// number. Null stands for an absent optional argument.
[[nodiscard]] Result<Value> coerce(const Arg& arg, const Param& param);

/// The value when a case has none: the row's default, or null.
[[nodiscard]] Result<Value> default_value(const Arg& arg);

}  // namespace diopi
