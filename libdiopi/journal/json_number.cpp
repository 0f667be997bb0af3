#include "journal/json_number.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace diopi {

nlohmann::ordered_json json_number(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    return x;
}

double number_of(const nlohmann::ordered_json& json) {
    if (!json.is_string()) return json.get<double>();
    const auto& text = json.get_ref<const std::string&>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace diopi
