/// Faults that no data can show in some functions, with the reason.
#pragma once

#include <span>
#include <string_view>

#include "schema/schema.hpp"

namespace diopi::mutation {

struct Excuse {
    std::string_view fault;
    std::string_view functions;  ///< why no data can show it
    bool (*covers)(const Row&);
    std::string_view reason;
};

[[nodiscard]] std::span<const Excuse> excuses();
/// Null if the fault must be seen in that function.
[[nodiscard]] const Excuse* find_excuse(std::string_view fault, const Row& row);

}  // namespace diopi::mutation
