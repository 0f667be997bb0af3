/// invoke: from boxed arguments to a typed C call. One thunk per C signature unboxes by the parameter types.
#pragma once

#include "call/call.hpp"
#include "core/status.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Calls `function`, which must have the type of call.row, with the call's arguments. Values that the function writes
/// through pointers (bool*, double*, tensors that it allocates) are stored back into the call.
[[nodiscard]] diopiError_t invoke(AnyFunction function, Context& context, Call& call);

/// Checks that every required argument is there and that each box holds what the C type needs. Only a call that passed
/// may be given to invoke.
[[nodiscard]] Status validate(const Call& call);

}  // namespace diopi
