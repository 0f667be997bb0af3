/// Class F: the numbers of a random operator follow their law, the same generator state gives the same numbers, another
/// state gives others, and the state advances so far that no number comes again.
#pragma once

#include <string_view>

#include "step/checks/step_check.hpp"

namespace diopi {

/// Further runs of the step, of which both attempts began with the same generator state.
struct RandomRuns {
    PlacedCall& other;             ///< from another seed, or another offset
    std::string_view other_state;  ///< which of them: "seed" or "offset"
    PlacedCall& next;              ///< from the state that the second attempt left
};

[[nodiscard]] Failure check_random(const StepUnderTest& test, const RandomRuns& runs, Context& context);

}  // namespace diopi
