#include "json/json_text.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace diopi {

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string indented(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json parse_own(std::string_view text) { return Json::parse(text); }

Json json_number(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    return x;
}

double number_of(const Json& json) {
    if (!json.is_string()) return json.get<double>();
    const auto& text = json.get_ref<const std::string&>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace diopi
