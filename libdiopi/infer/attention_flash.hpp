/// The sizes of a call of attention, which its shape rule and its number of operations need.
#pragma once

#include <optional>
#include <string>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

struct AttentionSizes {
    int64_t batch = 0, heads = 0, key_heads = 0, dim = 0;
    int64_t queries = 0;  ///< of the longest sequence
    double pairs = 0;     ///< of a query and a key that it meets, in all sequences together

    /// Why the arguments contradict each other, as an error of the call.
    [[nodiscard]] static Result<AttentionSizes> of(const Call& call);
};

}  // namespace diopi
