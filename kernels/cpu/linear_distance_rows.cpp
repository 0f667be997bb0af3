/// The loops of Euclidean distances on Highway's vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_distance_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/linear_distance_rows.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// The tile of distances in registers: points of x by vectors of points of y.
constexpr int64_t kTileRows = 4, kTileVectors = 2;
template <class T>
constexpr int64_t kTilePoints = kTileVectors* kLanesOf<T>;

/// One tile of distances, of which `rows` and `columns` are stored; the coordinates k of y are neighbours.
template <class T>
void distance_tile(int64_t m, int64_t rows, const T* x, int64_t columns, const T* y, T* to, int64_t stride) {
    const T* own[kTileRows];
    for (int64_t i = 0; i < kTileRows; ++i) own[i] = x + std::min(i, rows - 1) * m;
    Vec<T> sums[kTileRows][kTileVectors];
    // Every loop over the tile is unrolled: an index known only at run time would keep it in memory.
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTileRows; ++i) sums[i][0] = sums[i][1] = set(T(0));
    for (int64_t first = 0; first < m; first += kTermsTogether) {
        const int64_t last = std::min(m, first + kTermsTogether);
        Vec<T> parts[kTileRows][kTileVectors];
#pragma GCC unroll 4
        for (int64_t i = 0; i < kTileRows; ++i) parts[i][0] = parts[i][1] = set(T(0));
        for (int64_t k = first; k < last; ++k) {
            const Vec<T> low = load(y + k * kTilePoints<T>), high = load(y + k * kTilePoints<T> + kLanesOf<T>);
#pragma GCC unroll 4
            for (int64_t i = 0; i < kTileRows; ++i) {
                const Vec<T> coordinate = set(own[i][k]), apart_low = coordinate - low, apart_high = coordinate - high;
                parts[i][0] = hn::MulAdd(apart_low, apart_low, parts[i][0]);
                parts[i][1] = hn::MulAdd(apart_high, apart_high, parts[i][1]);
            }
        }
#pragma GCC unroll 4
        for (int64_t i = 0; i < kTileRows; ++i) {
            sums[i][0] = sums[i][0] + parts[i][0];
            sums[i][1] = sums[i][1] + parts[i][1];
        }
    }
    const int64_t low_columns = std::min(columns, kLanesOf<T>), high_columns = columns - low_columns;
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTileRows; ++i) {
        if (i >= rows) break;
        store_up_to(hn::Sqrt(sums[i][0]), to + i * stride, low_columns);
        if (high_columns > 0) store_up_to(hn::Sqrt(sums[i][1]), to + i * stride + kLanesOf<T>, high_columns);
    }
}

template <class T>
void distances(int64_t m, int64_t rows, const T* x, int64_t r, const T* y, T* to) {
    std::vector<T> turned(static_cast<size_t>(m * kTilePoints<T>));
    for (int64_t j = 0; j < r; j += kTilePoints<T>) {
        const int64_t columns = std::min(kTilePoints<T>, r - j);
        turn_points(m, columns, kTilePoints<T>, y + j * m, turned.data());
        for (int64_t i = 0; i < rows; i += kTileRows) {
            distance_tile(m, std::min(kTileRows, rows - i), x + i * m, columns, turned.data(), to + i * r + j, r);
        }
    }
}

/// The sums for coordinates from k on, in steps of `kVectors` vectors; returns the first one that is left.
template <int64_t kVectors, class T>
HWY_INLINE int64_t add_vectors(int64_t k, int64_t m, int64_t n, const T* x, const T* y, const T* scales, T* to) {
    for (; k + kVectors * kLanesOf<T> <= m; k += kVectors * kLanesOf<T>) {
        Vec<T> own[kVectors], sums[kVectors];
#pragma GCC unroll 4
        for (int64_t v = 0; v < kVectors; ++v) {
            own[v] = load(x + k + v * kLanesOf<T>);
            sums[v] = set(T(0));
        }
        for (int64_t j = 0; j < n; ++j) {
            const Vec<T> scale = set(scales[j]);
            const T* other = y + j * m + k;
#pragma GCC unroll 4
            for (int64_t v = 0; v < kVectors; ++v) {
                sums[v] = hn::MulAdd(scale, own[v] - load(other + v * kLanesOf<T>), sums[v]);
            }
        }
#pragma GCC unroll 4
        for (int64_t v = 0; v < kVectors; ++v) {
            T* at = to + k + v * kLanesOf<T>;
            store(load(at) + sums[v], at);
        }
    }
    return k;
}

template <class T>
void add_scaled(int64_t m, int64_t n, const T* x, const T* y, const T* scales, T* to) {
    int64_t k = add_vectors<4>(0, m, n, x, y, scales, to);
    k = add_vectors<1>(k, m, n, x, y, scales, to);
    const int64_t left = m - k;
    if (left == 0) return;
    const Vec<T> own = load_first(x + k, left, 0);
    Vec<T> sum = load_first(to + k, left, 0);
    for (int64_t j = 0; j < n; ++j) {
        sum = hn::MulAdd(set(scales[j]), own - load_first(y + j * m + k, left, 0), sum);
    }
    store_first(sum, to + k, left);
}

EuclidTable Kernels() { return {{distances<float>, add_scaled<float>}, {distances<double>, add_scaled<double>}}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(EuclidTable, euclid_table)

}  // namespace diopi::cpu
#endif
