#include "validators.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

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

namespace {

/// Accepts a whole number of the type that its option has.
template <class T>
std::string check_whole(const std::string& text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_read = end == text.data() + text.size() && !text.empty();
    if (error == std::errc::result_out_of_range && is_read) return "'" + text + "' is out of range";
    const std::string digits = text.starts_with('-') ? text.substr(1) : text;
    if (error != std::errc() || !is_read)
        return "'" + text + "' is no whole number" + (text.starts_with('-') ? " from 0 on" : "");
    if (digits.size() > 1 && digits.front() == '0') return "'" + text + "' begins with 0; write the number in decimal";
    return "";
}

std::string check_decimal(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_read = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
    return is_read ? "" : "'" + text + "' is no number";
}

}  // namespace

void read_numbers_strictly(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        const std::string type = option->get_type_name();
        const auto is_of = [&](std::string_view name) {
            return type == name || type.starts_with(std::string(name) + ":");
        };
        if (is_of("UINT") || is_of("SEED")) option->check(CLI::Validator(check_whole<uint64_t>, ""));
        if (is_of("INT") || is_of("N")) option->check(CLI::Validator(check_whole<int64_t>, ""));
        if (is_of("FLOAT")) option->check(CLI::Validator(check_decimal, ""));
    }
    for (CLI::App* command : app.get_subcommands({})) read_numbers_strictly(*command);
}

}  // namespace diopi
