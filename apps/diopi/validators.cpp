#include "validators.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <charconv>

namespace diopi {

CLI::Validator seconds_above_zero() {
    const auto check = [](const std::string& text) {
        constexpr double kMost = 1e7;
        double seconds = 0;
        const bool is_number = CLI::detail::lexical_cast(text, seconds);
        if (is_number && seconds > 0 && seconds <= kMost) return std::string();
        return fmt::format("'{}' is no number of seconds above 0 and up to {:.0f}", text, kMost);
    };
    return {check, ""};
}

double seconds_of_span(const std::string& text) {
    constexpr double kMost = 1e7;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string unit(end, text.data() + text.size());
    const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    const double seconds = number * factor;
    return error == std::errc() && seconds > 0 && seconds <= kMost ? seconds : 0;
}

CLI::Validator time_span() {
    const auto check = [](const std::string& text) {
        if (seconds_of_span(text) > 0) return std::string();
        return fmt::format("'{}' is no time: give a number above 0 and s, m or h, such as 60s, 15m or 8h", text);
    };
    return {check, ""};
}

}  // namespace diopi
