/// The facts of a profile's row that come from the call itself.
#pragma once

#include "call/call.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// Fills in the function, shapes and dtype of the call's inputs, its flops and bytes.
void describe_call(const Call& call, ProfiledCall& profiled);

}  // namespace diopi
