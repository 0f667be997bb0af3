/// Class F: what a random operator drew follows its law, and the same generator state gives the same numbers.
#pragma once

#include "run/placed_call.hpp"

namespace diopi {

/// `first` and `second` are two runs of the step from the same generator state.
[[nodiscard]] Status check_random(const Step& step, PlacedCall& first, PlacedCall& second, Context& context);

}  // namespace diopi
