#include "call/call.hpp"

#include <cassert>

namespace diopi {

size_t Call::position(std::string_view arg) const {
    const int found = row->find(arg);
    assert(found >= 0 && "the row has no argument of that name");
    return static_cast<size_t>(found);
}

const Tensor* Call::tensor(std::string_view arg) const {
    const int found = row->find(arg);
    if (found < 0) return nullptr;
    const auto* value = std::get_if<TensorPtr>(&args[static_cast<size_t>(found)]);
    return value == nullptr ? nullptr : value->get();
}

const IntList* Call::ints(std::string_view arg) const {
    const int found = row->find(arg);
    return found < 0 ? nullptr : std::get_if<IntList>(&args[static_cast<size_t>(found)]);
}

int64_t Call::integer(std::string_view arg, int64_t otherwise) const {
    const int found = row->find(arg);
    if (found < 0) return otherwise;
    const auto* value = std::get_if<int64_t>(&args[static_cast<size_t>(found)]);
    return value == nullptr ? otherwise : *value;
}

bool Call::flag(std::string_view arg) const {
    const int found = row->find(arg);
    if (found < 0) return false;
    const auto* value = std::get_if<bool>(&args[static_cast<size_t>(found)]);
    return value != nullptr && *value;
}

}  // namespace diopi
