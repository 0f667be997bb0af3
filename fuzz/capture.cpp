#include "capture/capture.hpp"

#include "capture/capture_json.hpp"
#include "fuzz/targets.hpp"

namespace diopi::fuzz {

/// A capture as JSON; one that could be read gives the same text each time that it is written.
bool capture(std::string_view bytes) {
    const auto read = capture_from_json(bytes, "fuzz.json");
    if (!read.ok()) return false;
    const auto text = capture_to_json(*read);
    if (!text.ok()) __builtin_trap();
    const auto again = capture_from_json(*text, "again.json");
    if (!again.ok()) __builtin_trap();
    const auto same = capture_to_json(*again);
    if (!same.ok() || *same != *text) __builtin_trap();
    return true;
}

}  // namespace diopi::fuzz
