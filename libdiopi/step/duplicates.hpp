/// Calls that replace one element by several values: the standard leaves open which of them stays.
#pragma once

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// Gives the values of scatter and index_put that replace one element one value, so that every order gives one result.
/// Changes the host tensor of the values; other calls stay as they are.
[[nodiscard]] Status agree_on_duplicates(Call& call);

}  // namespace diopi
