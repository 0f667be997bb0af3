/// Class F: the numbers of a random operator follow their law, the same generator state gives the same numbers, another
/// seed gives others, and the state advances.
#pragma once

#include "step/placed_call.hpp"

namespace diopi {

/// Three runs of one step: two from the same generator state, the third with another seed.
struct RandomRuns {
    PlacedCall& first;
    PlacedCall& second;
    PlacedCall& other_seed;
};

[[nodiscard]] Failure check_random(const Step& step, const RandomRuns& runs, Context& context);

}  // namespace diopi
