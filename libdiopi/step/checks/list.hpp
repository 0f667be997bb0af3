/// The checks of a step, in the order in which their failures count.
#pragma once

#include <memory>
#include <vector>

#include "step/checks/step_check.hpp"

namespace diopi {

/// One line for each check; its file defines step_check::NAME, which creates it, or returns null if the rules do not
/// request it.
#define DIOPI_STEP_CHECKS(CHECK)                                                                         \
    CHECK(state)     /* the caller's state and the arguments are as they were */                         \
    CHECK(integrity) /* nothing was written past an edge, between elements, or to a const input */       \
    CHECK(repeat)    /* a second run writes every element, and the same bits where the schema says so */ \
    CHECK(random)    /* what is drawn follows its law */                                                 \
    CHECK(leaks)     /* a call gives back the memory that it takes */                                    \
    CHECK(resources) /* and leaves no thread, process, descriptor, mapping or file */                    \
    CHECK(values)    /* shape, dtype and values of the outputs */                                        \
    CHECK(history)   /* nothing of earlier calls shows in the results */                                 \
    CHECK(stream)    /* a call works in the order of the context's stream and does not wait for it */

namespace step_check {
#define DIOPI_DECLARE(name) [[nodiscard]] std::unique_ptr<StepCheck> name(const CheckSetup& setup);
DIOPI_STEP_CHECKS(DIOPI_DECLARE)
#undef DIOPI_DECLARE
}  // namespace step_check

/// The checks that the rules request.
[[nodiscard]] std::vector<std::unique_ptr<StepCheck>> step_checks(const CheckSetup& setup);

}  // namespace diopi
