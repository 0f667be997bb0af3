#include "report/profile_row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace diopi {

std::string shapes_text(const ProfiledCall& call) {
    std::string text;
    for (const auto& shape : call.shapes)
        text += fmt::format("{}[{}]", text.empty() ? "" : ", ", fmt::join(shape, ", "));
    return "[" + text + "]";
}

}  // namespace diopi
