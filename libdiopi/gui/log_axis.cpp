#include "gui/log_axis.hpp"

#include <algorithm>
#include <cmath>

namespace diopi {

double LogAxis::place(double value) const {
    const double inside = std::clamp(value, low, high);
    return (std::log10(inside) - std::log10(low)) / (std::log10(high) - std::log10(low));
}

std::vector<double> LogAxis::powers(size_t most) const {
    // An end that is a power up to rounding is on the axis.
    constexpr double kRounding = 1e-9;
    const int first = static_cast<int>(std::ceil(std::log10(low) - kRounding));
    const int last = static_cast<int>(std::floor(std::log10(high) + kRounding));
    const int step = std::max(1, (last - first + static_cast<int>(most)) / static_cast<int>(most));
    std::vector<double> powers;
    for (int power = first; power <= last; power += step) powers.push_back(std::pow(10.0, power));
    return powers;
}

}  // namespace diopi
