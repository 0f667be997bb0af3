/// Euclidean distances, and the sums of their gradient, in the best instruction set of this machine; and what these
/// loops share with those of other orders.
#pragma once

#include <cstdint>
#include <tuple>

namespace diopi::cpu {

/// Coordinates whose terms are added up before they join the sum of a distance.
constexpr int64_t kTermsTogether = 16;

/// Copies n points, each into a lane: to[k * lanes + l] = y[l * m + k]. Other lanes stay as they are.
template <class T>
void turn_points(int64_t m, int64_t n, int64_t lanes, const T* y, T* to) {
    for (int64_t l = 0; l < n; ++l) {
        for (int64_t k = 0; k < m; ++k) to[k * lanes + l] = y[l * m + k];
    }
}

/// Points are rows of m coordinates. T is float or double.
template <class T>
struct EuclidKernels {
    /// to[i * r + j] = the distance from point i of x, of `rows`, to point j of y, of `r`.
    void (*distances)(int64_t m, int64_t rows, const T* x, int64_t r, const T* y, T* to);
    /// to[k] += the sum of scales[j] * (x[k] - y[j * m + k]) over the n points of y.
    void (*add_scaled)(int64_t m, int64_t n, const T* x, const T* y, const T* scales, T* to);
};

using EuclidTable = std::tuple<EuclidKernels<float>, EuclidKernels<double>>;
[[nodiscard]] const EuclidTable& euclid_table();

}  // namespace diopi::cpu
