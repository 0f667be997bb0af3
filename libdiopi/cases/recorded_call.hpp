/// The call of a case that is made from a capture rather than from a case file.
#pragma once

#include <vector>

#include "call/call.hpp"
#include "infer/output_spec.hpp"

namespace diopi {

struct RecordedCall {
    Call call;  ///< its inputs are on the host, its outputs and generators null
    std::vector<OutputSpec> outputs;
};

}  // namespace diopi
