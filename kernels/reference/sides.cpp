#include "kernels/reference/sides.hpp"

namespace diopi::reference {

std::string_view side_names(size_t sides) {
    constexpr std::string_view kNames[] = {"L", "H, W", "D, H, W"};
    return kNames[sides - 1];
}

Shape numbers_of(size_t sides, diopiSize_t list, std::string_view argument) {
    constexpr std::string_view kWanted[] = {"one number", "one number or two", "one number or three"};
    const ShapeView values = list_of(list);
    if (values.size() != 1 && values.size() != sides) {
        refuse(std::string(argument) + " is " + to_string(values) + ", wanted " + std::string(kWanted[sides - 1]));
    }
    return values.size() == 1 ? Shape(sides, values[0]) : Shape(values.begin(), values.end());
}

void require_image(size_t sides, ShapeView input) {
    if (input.size() == sides + 1 || input.size() == sides + 2) return;
    const std::string names(side_names(sides));
    refuse("input has shape " + to_string(input) + ", wanted (N, C, " + names + ") or (C, " + names + ")");
}

}  // namespace diopi::reference
