/// Figures as the window's tables and plots show and sort them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace diopi {

/// Three digits and a prefix: "1.5 GFLOP/s", "20 kB".
[[nodiscard]] std::string scaled_text(double x, std::string_view unit);
/// "12.5%"
[[nodiscard]] std::string share_text(double share);
/// Three digits; nothing for a figure that lacks.
[[nodiscard]] std::string figure_text(const std::optional<double>& x);

/// The order of figures: one that lacks is the smallest, NaN the largest.
[[nodiscard]] bool figure_less(const std::optional<double>& one, const std::optional<double>& other);

}  // namespace diopi
