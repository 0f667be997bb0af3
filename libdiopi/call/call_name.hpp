/// The names of a call.
#pragma once

#include <string>
#include <vector>

#include "call/call.hpp"

namespace diopi {

/// "add.Tensor": the schema's operator with its overload, "relu" where it has none.
[[nodiscard]] std::string full_name(const Row& row);
/// The name that reports show: the framework's of a captured call, else the schema's full name.
[[nodiscard]] std::string name_of(const Call& call);
/// All names of a call: its C function ("diopiAdd"), operator ("add") and full name ("add.Tensor"), and those of its
/// framework ("add_.Tensor", "add_").
[[nodiscard]] std::vector<std::string> names_of(const Call& call);

}  // namespace diopi
