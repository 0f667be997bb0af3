#include "validators.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

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

}  // namespace diopi
