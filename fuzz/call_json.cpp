#include "store/call_json.hpp"

#include <algorithm>

#include "fuzz/targets.hpp"
#include "runtime/device.hpp"

namespace diopi::fuzz {

namespace {

/// A small tensor for a small reference, as if a file beside the text held it.
Result<TensorPtr> small_tensor(const TensorReference& reference) {
    if (reference.extent > 4096) return bad_input("the file does not hold so much");
    return make_view(cpu_device(), reference.spec, reference.offset, reference.extent);
}

}  // namespace

/// A call as JSON; what could be read gives the same text each time that it is written.
bool call_json(std::string_view bytes) {
    const auto stored = call_from_json(bytes, "fuzz.json", small_tensor);
    if (!stored.ok()) return false;
    const auto name_of = [](const Tensor&, const std::string& place) { return place; };
    const auto text = call_to_json(stored->call, name_of);
    if (!text.ok()) __builtin_trap();
    const auto again = call_from_json(*text, "again.json", small_tensor);
    if (!again.ok() || *call_to_json(again->call, name_of) != *text) __builtin_trap();
    return true;
}

}  // namespace diopi::fuzz
