#include "call/call.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>

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

bool Call::asks_for_error() const {
    for (size_t i = 0; i < args.size(); ++i) {
        const auto* asks = std::get_if<bool>(&args[i]);
        if (row->args()[i].asks_for_error && asks != nullptr && *asks) return true;
    }
    return false;
}

TensorPtr Call::tensor_at(ArgPlace place) const {
    const Value& value = args[place.arg];
    if (const auto* tensor = std::get_if<TensorPtr>(&value)) return *tensor;
    const auto* list = std::get_if<TensorList>(&value);
    return list == nullptr || place.position >= list->size() ? nullptr : (*list)[place.position];
}

void Call::set_tensor(ArgPlace place, TensorPtr tensor) {
    Value& value = args[place.arg];
    if (!row->args()[place.arg].is_tensor_list()) {
        value = std::move(tensor);
        return;
    }
    if (!std::holds_alternative<TensorList>(value)) value = TensorList();
    auto& list = std::get<TensorList>(value);
    list.resize(std::max(list.size(), place.position + 1));
    list[place.position] = std::move(tensor);
}

std::string Call::name_of(ArgPlace place) const {
    const Arg& arg = row->args()[place.arg];
    const bool is_one_of_several = arg.is_tensor_list() && !arg.is_made;
    return std::string(arg.name) + (is_one_of_several ? "." + std::to_string(place.position) : "");
}

std::optional<ArgPlace> Call::place_of(std::string_view name) const {
    const size_t dot = std::min(name.find('.'), name.size());
    const int arg = row->find(name.substr(0, dot));
    if (arg < 0) return std::nullopt;
    ArgPlace place(static_cast<size_t>(arg));
    const char* end = name.data() + name.size();
    if (dot < name.size() && std::from_chars(name.data() + dot + 1, end, place.position).ptr != end) {
        return std::nullopt;
    }
    return place;
}

bool Call::flag(std::string_view arg) const {
    const int found = row->find(arg);
    if (found < 0) return false;
    const auto* value = std::get_if<bool>(&args[static_cast<size_t>(found)]);
    return value != nullptr && *value;
}

}  // namespace diopi
