/// Class F: the numbers of a random operator follow their law, the same generator state gives the same numbers, another
/// seed gives others, and the state advances.
#pragma once

#include "step/checks/step_check.hpp"

namespace diopi {

/// Both attempts of the step began with the same generator state; a third run had another seed.
[[nodiscard]] Failure check_random(const StepUnderTest& test, PlacedCall& other_seed, Context& context);

}  // namespace diopi
