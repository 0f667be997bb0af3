/// Scratch memory for functions that ask for it: as the caller of such a function must do, the chain asks for the size
/// with a negative number, and lends memory of that size for the call.
#pragma once

#include "call/call.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Does the same as invoke, and lends the call each workspace that it leaves out. The call has none again when this
/// returns, so that another backend is asked for its own sizes.
[[nodiscard]] diopiError_t invoke_with_workspace(AnyFunction function, Context& context, Call& call);

}  // namespace diopi
