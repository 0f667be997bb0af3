/// The elements that a position between elements takes its value from, with their weights: along each side of an image.
///
/// With Inexact, a position has an error, and so have the weights. Where the error reaches into the next interval, a
/// library may take other elements: they have the weight 0 with that error.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

[[nodiscard]] inline double value_of(double x) { return x; }
[[nodiscard]] inline double value_of(const Inexact& x) { return x.value; }
[[nodiscard]] inline double error_of(double) { return 0; }
[[nodiscard]] inline double error_of(const Inexact& x) { return x.error; }
/// A number of that value, and of that error where numbers know theirs.
[[nodiscard]] inline double with_error(double, double value, double) { return value; }
[[nodiscard]] inline Inexact with_error(const Inexact&, double value, double error) { return {value, error}; }

template <class T>
struct Tap {
    int64_t at;
    T weight;
};
template <class T>
using Taps = std::vector<Tap<T>>;

/// Adds the neighbours of the taps that begin at `first`, where the error of the position may reach them.
template <class T>
void add_neighbours(const T& part, int64_t first, Taps<T>& taps) {
    const double error = error_of(part);
    if (error == 0) return;
    const auto count = static_cast<int64_t>(taps.size());
    if (value_of(part) - error <= 0) taps.push_back({first - 1, with_error(T(0), 0, error)});
    if (value_of(part) + error >= 1) taps.push_back({first + count, with_error(T(0), 0, error)});
}

/// Between two elements: 1 - part and part.
template <class T>
[[nodiscard]] Taps<T> linear_taps(const T& position) {
    const double low = std::floor(value_of(position));
    const auto first = static_cast<int64_t>(low);
    const T part = position - T(low);
    Taps<T> taps{{first, T(1) - part}, {first + 1, part}};
    add_neighbours(part, first, taps);
    return taps;
}

/// Cubic convolution of four elements with a = -0.75. Source: R. Keys, Cubic convolution interpolation for digital
/// image processing, equation 4.
template <class T>
[[nodiscard]] Taps<T> cubic_taps(const T& position) {
    constexpr double a = -0.75;
    const auto near = [](const T& x) { return (T(a + 2) * x - T(a + 3)) * x * x + T(1); };
    const auto far = [](const T& x) { return ((T(a) * x - T(5 * a)) * x + T(8 * a)) * x - T(4 * a); };
    const double low = std::floor(value_of(position));
    const auto first = static_cast<int64_t>(low) - 1;
    const T part = position - T(low), rest = T(1) - part;
    Taps<T> taps{
        {first, far(part + T(1))}, {first + 1, near(part)}, {first + 2, near(rest)}, {first + 3, far(rest + T(1))}};
    add_neighbours(part, first, taps);
    return taps;
}

}  // namespace diopi::reference
