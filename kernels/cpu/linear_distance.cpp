/// Distances of all points of one set to all points of another, and their gradient. Half types compute in float32; the
/// differences are formed, so that near points lose no digits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/linear_distance_rows.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/solve.hpp"

namespace diopi::cpu {

namespace {

/// The formulas of one order p: what each difference adds, what becomes of the sum, and the slope of the distance along
/// a difference, which is 0 where the distance is. Source: torch.cdist, torch.ops.aten._cdist_backward.
struct Count {
    template <class T>
    T term(T apart) const {
        return apart != apart ? apart : apart != 0 ? T(1) : T(0);
    }
    template <class T>
    T finish(T sum) const {
        return sum;
    }
    template <class T>
    T slope(T, T) const {
        return 0;
    }
};

template <class T>
T sign_of(T x) {
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

struct Taxicab {
    template <class T>
    T term(T apart) const {
        return std::fabs(apart);
    }
    template <class T>
    T finish(T sum) const {
        return sum;
    }
    template <class T>
    T slope(T apart, T) const {
        return sign_of(apart);
    }
};

/// EuclidKernels compute its distances.
struct Euclid {
    template <class T>
    T slope(T apart, T distance) const {
        return distance == 0 ? T(0) : apart / distance;
    }
};

/// The terms are those of the taxicab distance, and the largest one stands for their sum.
struct Largest : Taxicab {
    static constexpr bool kIsExtreme = true;
    template <class T>
    T slope(T apart, T largest) const {
        return largest != largest ? largest : std::fabs(apart) == largest ? sign_of(apart) : T(0);
    }
};

/// p = 1/2, which has square roots in place of powers.
struct Root {
    template <class T>
    T term(T apart) const {
        return std::sqrt(std::fabs(apart));
    }
    template <class T>
    T finish(T sum) const {
        return sum * sum;
    }
    template <class T>
    T slope(T apart, T distance) const {
        // The quotient of the two may be too large, that of their roots is not.
        const T size = std::sqrt(distance) / std::sqrt(std::fabs(apart));
        return distance == 0 || apart == 0 ? T(0) : apart < 0 ? -size : size;
    }
};

struct Power {
    double p;
    template <class T>
    T term(T apart) const {
        return std::pow(std::fabs(apart), T(p));
    }
    template <class T>
    T finish(T sum) const {
        return std::pow(sum, T(1 / p));
    }
    template <class T>
    T slope(T apart, T distance) const {
        if (distance == 0 || apart == 0) return 0;
        return sign_of(apart) * std::pow(std::fabs(apart) / distance, T(p - 1));
    }
};

template <class F>
constexpr bool kIsExtreme = requires {
    F::kIsExtreme;
};

/// The sum of two terms, or the larger of them, a NaN before all.
template <class F, class T>
[[gnu::always_inline]] inline T joined(T a, T b) {
    if constexpr (kIsExtreme<F>)
        return a != a || a > b ? a : b;
    else
        return a + b;
}

/// All terms joined; in parts, which the compiler makes vectors of.
template <class F, class T>
T fold(const F& f, int64_t m, const T* x, const T* y) {
    constexpr int64_t kLanes = 16;
    std::array<T, kLanes> parts{};
    int64_t k = 0;
    for (; k + kLanes <= m; k += kLanes) {
        for (int64_t i = 0; i < kLanes; ++i) {
            T& part = parts[static_cast<size_t>(i)];
            part = joined<F>(part, f.template term<T>(x[k + i] - y[k + i]));
        }
    }
    for (int64_t i = 0; k < m; ++k, ++i) {
        T& part = parts[static_cast<size_t>(i)];
        part = joined<F>(part, f.template term<T>(x[k] - y[k]));
    }
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; ++i) parts[i] = joined<F>(parts[i], parts[i + half]);
    }
    return parts[0];
}

/// Points whose distances to one point are formed together, each in a lane.
constexpr int64_t kLanesOfPoints = 16;

/// The distances of x to kLanesOfPoints points, whose coordinates k are y[k * kLanesOfPoints] and those behind it.
template <class F, class T>
void fold_lanes(const F& given, int64_t m, const T* x, const T* y, T* to) {
    const F f = given;
    T sums[kLanesOfPoints] = {};
    for (int64_t first = 0; first < m; first += kTermsTogether) {
        const int64_t last = std::min(m, first + kTermsTogether);
        T part[kLanesOfPoints] = {};
        for (int64_t k = first; k < last; ++k) {
#pragma GCC unroll 1  // a loop of its own becomes vectors
            for (int64_t l = 0; l < kLanesOfPoints; ++l) {
                part[l] = joined<F>(part[l], f.template term<T>(x[k] - y[k * kLanesOfPoints + l]));
            }
        }
        for (int64_t l = 0; l < kLanesOfPoints; ++l) sums[l] = joined<F>(sums[l], part[l]);
    }
    for (int64_t l = 0; l < kLanesOfPoints; ++l) to[l] = f.finish(sums[l]);
}

/// to[i * r + j] = the distance from point i of x, of `rows`, to point j of y, of `r`.
template <class F, class T>
void form_distances(const F& f, int64_t m, int64_t rows, const T* x, int64_t r, const T* y, T* to) {
    if constexpr (std::is_same_v<F, Euclid>) {
        std::get<EuclidKernels<T>>(euclid_table()).distances(m, rows, x, r, y, to);
    } else {
        const auto fold_block = best<fold_lanes<F, T>>();
        std::vector<T> turned(static_cast<size_t>(m * kLanesOfPoints));
        for (int64_t j = 0; j < r; j += kLanesOfPoints) {
            const int64_t n = std::min(kLanesOfPoints, r - j);
            turn_points(m, n, kLanesOfPoints, y + j * m, turned.data());
            for (int64_t i = 0; i < rows; ++i) {
                T found[kLanesOfPoints];
                fold_block(f, m, x + i * m, turned.data(), found);
                std::copy_n(found, n, to + i * r + j);
            }
        }
    }
}

/// Points y whose slopes are added together.
constexpr int64_t kSlopesTogether = 64;

/// Euclidean slopes along x - y are that difference times a scale, g / distance. False if a scale has lost digits or is
/// not finite.
template <class T>
bool make_scales(int64_t n, const T* g, const T* distances, T* scales) {
    bool exact = true;
    for (int64_t j = 0; j < n; ++j) {
        scales[j] = distances[j] == 0 ? T(0) : g[j] / distances[j];
        const T size = std::fabs(scales[j]);
        const bool is_normal = size >= std::numeric_limits<T>::min() && size <= std::numeric_limits<T>::max();
        exact = exact && (is_normal || distances[j] == 0 || g[j] == 0);
    }
    return exact;
}

/// to += g * the slopes of the distances from x to n points y.
template <class F, class T>
void fold_slopes(const F& given, int64_t m, int64_t n, const T* x, const T* y, const T* g, const T* distances, T* to) {
    const F f = given;
    for (int64_t j = 0; j < n; ++j) {
        const T* other = y + j * m;
        T distance = distances[j];
        if constexpr (kIsExtreme<F>) distance = fold(f, m, x, other);
        for (int64_t k = 0; k < m; ++k) to[k] += g[j] * f.template slope<T>(x[k] - other[k], distance);
    }
}

/// The same, by one scale for each point where the order allows it.
template <class F, class T>
void add_slopes(const F& f, int64_t m, int64_t n, const T* x, const T* y, const T* g, const T* distances, T* to) {
    T scales[kSlopesTogether];
    if (std::is_same_v<F, Euclid> && best<make_scales<T>>()(n, g, distances, scales))
        std::get<EuclidKernels<T>>(euclid_table()).add_scaled(m, n, x, y, scales, to);
    else
        best<fold_slopes<F, T>>()(f, m, n, x, y, g, distances, to);
}

/// Calls run(F()) with the formulas of the order.
template <class Run>
diopiError_t with_order(double p, Run&& run) {
    if (p == 0) return run(Count());
    if (p == 1) return run(Taxicab());
    if (p == 2) return run(Euclid());
    if (p == 0.5) return run(Root());
    if (std::isinf(p)) return run(Largest());
    return run(Power{p});
}

/// The points of both sets: (*, P, M) and (*, R, M).
struct Points {
    View input1, input2;
    MatrixPairs pairs;

    [[nodiscard]] int64_t p() const { return size_from_back(input1, 1); }
    [[nodiscard]] int64_t r() const { return size_from_back(input2, 1); }
    [[nodiscard]] int64_t m() const { return input1.shape.back(); }
    [[nodiscard]] Shape shape() const { return matrices(pairs.batch, p(), r()); }

    [[nodiscard]] diopiError_t read(std::string_view op, double order) {
        const diopiError_t error = check_matrices(op, {{"input1", input1}, {"input2", input2}});
        if (error != diopiSuccess) return error;
        if (!(order >= 0)) return refuse(op, "p is " + std::to_string(order) + ", wanted 0 or more");
        if (input2.shape.back() != m()) {
            return wrong_shape(op, "input2", input2.shape, "points of " + std::to_string(m()) + " coordinates");
        }
        return pair_matrices(op, input1, input2, pairs);
    }
};

template <class T, class F>
diopiError_t run_distances(diopiContextHandle_t ctx, const Points& points, const View& out, const F& f) {
    const int64_t p = points.p(), r = points.r(), m = points.m();
    Staging staging(ctx);
    const T *x = staging.in<T>(points.input1), *y = staging.in<T>(points.input2);
    T* to = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    // Blocks of rows: the points of the other set are turned round once for each of them.
    const int64_t rows = std::clamp<int64_t>(p / 4, 4, 128), blocks = (p + rows - 1) / rows;
    parallel_for(points.pairs.count() * blocks, rows * r * m, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
            const auto pair = static_cast<size_t>(block / blocks);
            const int64_t first = block % blocks * rows, count = std::min(rows, p - first);
            form_distances(f, m, count, x + (points.pairs.first[pair] * p + first) * m, r,
                           y + points.pairs.second[pair] * r * m, to + (static_cast<int64_t>(pair) * p + first) * r);
        }
    });
    return staging.finish();
}

/// Every compute_mode gives the differences' result: its error is the least.
diopiError_t distances(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input1, diopiConstTensorHandle_t input2, double p,
                       const int64_t* compute_mode) {
    Points points{view(input1), view(input2), {}};
    const View y = view(out);
    diopiError_t error = points.read(op, p);
    if (error == diopiSuccess) error = check_shape(op, "out", y, points.shape());
    if (error != diopiSuccess) return error;
    if (compute_mode != nullptr && (*compute_mode < 0 || *compute_mode > 2)) {
        return refuse(op, "compute_mode is " + std::to_string(*compute_mode) + ", wanted 0, 1 or 2");
    }
    return with_order(p, [&](const auto& f) {
        if (points.input1.dtype == Dtype::float64) return run_distances<double>(ctx, points, y, f);
        return run_distances<float>(ctx, points, y, f);
    });
}

/// The pairs of matrices that each matrix of input1 is in.
std::vector<std::vector<int64_t>> pairs_of(const Points& points) {
    std::vector<std::vector<int64_t>> lists(static_cast<size_t>(numel(batch_of(points.input1))));
    for (int64_t k = 0; k < points.pairs.count(); ++k) {
        lists[static_cast<size_t>(points.pairs.first[static_cast<size_t>(k)])].push_back(k);
    }
    return lists;
}

template <class T, class F>
diopiError_t run_distances_backward(diopiContextHandle_t ctx, const Points& points, const View& grad_input,
                                    const View& grad_output, const View& cdist, const F& f) {
    const int64_t p = points.p(), r = points.r(), m = points.m();
    Staging staging(ctx);
    const T *x = staging.in<T>(points.input1), *y = staging.in<T>(points.input2);
    const T *g = staging.in<T>(grad_output), *saved = staging.in<T>(cdist);
    T* to = staging.out<T>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto lists = pairs_of(points);
    const int64_t matrices = static_cast<int64_t>(lists.size());
    const int64_t work = points.pairs.count() / std::max<int64_t>(matrices, 1) * r * m;
    parallel_for(matrices * p, work, [&](int64_t begin, int64_t end) {
        std::vector<T> part(static_cast<size_t>(m));
        for (int64_t row = begin; row < end; ++row) {
            const T* own = x + row * m;
            std::fill_n(to + row * m, m, T(0));
            for (const int64_t pair : lists[static_cast<size_t>(row / p)]) {
                // The sums of each matrix are added up apart, so that long ones lose no digits.
                std::fill(part.begin(), part.end(), T(0));
                const T* others = y + points.pairs.second[static_cast<size_t>(pair)] * r * m;
                for (int64_t j = 0; j < r; j += kSlopesTogether) {
                    const int64_t at = (pair * p + row % p) * r + j;
                    add_slopes(f, m, std::min(kSlopesTogether, r - j), own, others + j * m, g + at, saved + at,
                               part.data());
                }
                for (int64_t k = 0; k < m; ++k) to[row * m + k] += part[static_cast<size_t>(k)];
            }
        }
    });
    return staging.finish();
}

diopiError_t distances_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input1,
                                diopiConstTensorHandle_t input2, double p, diopiConstTensorHandle_t cdist) {
    Points points{view(input1), view(input2), {}};
    const View gx = view(grad_input), g = view(grad_output), saved = view(cdist);
    diopiError_t error = points.read(op, p);
    if (error == diopiSuccess) error = check_shape(op, "grad_input", gx, points.input1.shape);
    for (const auto& [argument, v] : {std::pair<std::string_view, const View&>("grad_output", g), {"cdist", saved}}) {
        if (error == diopiSuccess) error = check_computable(op, argument, v);
        if (error == diopiSuccess) error = check_shape(op, argument, v, points.shape());
    }
    if (error != diopiSuccess) return error;
    return with_order(p, [&](const auto& f) {
        if (points.input1.dtype == Dtype::float64) return run_distances_backward<double>(ctx, points, gx, g, saved, f);
        return run_distances_backward<float>(ctx, points, gx, g, saved, f);
    });
}

}  // namespace

#include "kernels/entries/linear_distance.inc"

}  // namespace diopi::cpu
