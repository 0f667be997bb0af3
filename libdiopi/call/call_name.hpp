/// What a call is called.
#pragma once

#include <string>
#include <vector>

#include "call/call.hpp"

namespace diopi {

/// "add.Tensor": the schema's operator with its overload, "relu" where it has none.
[[nodiscard]] std::string full_name(const Row& row);
/// The name that reports show: the framework's of a captured call, else the schema's full name.
[[nodiscard]] std::string name_of(const Call& call);
/// The names that a call answers to: its C function ("diopiAdd"), operator ("add") and full name ("add.Tensor"), and
/// those that its framework gave it ("add_.Tensor", "add_").
[[nodiscard]] std::vector<std::string> names_of(const Call& call);

}  // namespace diopi
