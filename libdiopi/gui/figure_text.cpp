#include "gui/figure_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace diopi {

std::string scaled_text(double x, std::string_view unit) {
    constexpr std::pair<double, const char*> kPrefixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (const auto& [least, prefix] : kPrefixes) {
        // A number that rounds to 1000 in three digits gets the next prefix.
        if (x >= 0.9995 * least) return fmt::format("{:.3g} {}{}", x / least, prefix, unit);
    }
    return fmt::format("{:.3g} {}", x, unit);
}

std::string share_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string figure_text(const std::optional<double>& x) { return x ? fmt::format("{:.3g}", *x) : ""; }

bool figure_less(const std::optional<double>& one, const std::optional<double>& other) {
    const auto key = [](const std::optional<double>& figure) {
        return std::pair(figure && std::isnan(*figure), figure && !std::isnan(*figure) ? *figure : -HUGE_VAL);
    };
    return key(one) < key(other);
}

}  // namespace diopi
