#include "call/call_name.hpp"

#include <algorithm>
#include <utility>

namespace diopi {

namespace {

void add_name(std::vector<std::string>& names, std::string name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

std::string full_name(const Row& row) {
    const std::string op(row.op);
    return row.overload.empty() ? op : op + "." + std::string(row.overload);
}

std::string name_of(const Call& call) {
    const bool has_own = call.origin != nullptr && !call.origin->overload.empty();
    return has_own ? call.origin->overload : full_name(*call.row);
}

std::vector<std::string> names_of(const Call& call) {
    const Row& row = *call.row;
    std::vector<std::string> names = {std::string(row.function)};
    add_name(names, std::string(row.op));
    add_name(names, full_name(row));
    if (call.origin == nullptr) return names;
    const std::string& overload = call.origin->overload;
    add_name(names, overload);
    add_name(names, overload.substr(0, overload.find('.')));
    return names;
}

}  // namespace diopi
