/// The checks around every call, beside the comparison of its values.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"
#include "runtime/guarded_device.hpp"

namespace diopi {

/// The checks around a call. Shape, dtype and values of the outputs are always compared.
struct Checks {
    Guard guard = Guard::kZones;  ///< writes past the edges of any buffer, or between the elements of an output
    bool inputs = true;           ///< const inputs do not change
    bool poison = true;           ///< every element of an output is written
    bool repeat = true;           ///< a second run gives the same bits where the schema promises it
    bool history = true;          ///< other calls before it do not change what a call gives
    bool leaks = true;            ///< a call frees the memory that it takes
    bool stream = true;           ///< a call works on the context's stream and does not wait for it
    bool state = true;            ///< a call changes nothing of its caller's state, and leaves no resources
    bool refusals = false;        ///< bad calls are refused: cases of their own

    /// "all", "none", or some of guards, pages, inputs, poison, repeat, history, leaks, stream, state, refusals;
    /// "all" has neither pages nor refusals.
    [[nodiscard]] static Result<Checks> parse(const std::vector<std::string>& names);
    /// The words for these checks, "all" first if all are on; for a command that repeats a run.
    [[nodiscard]] std::string text() const;
};

}  // namespace diopi
