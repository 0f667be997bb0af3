/// Binary cross entropy of probabilities and of logits, focal loss, and the gradients, on Highway's vectors. x is an
/// element of the input, t its target, w its weight, p the weight of the positive class, g the gradient of the loss.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/loss_entropy.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cpu/loss_entropy.hpp"
#include "kernels/cpu/unary-inl.hpp"

#define ENTROPIES(X)                          \
    X(entropy, Entropy)                       \
    X(entropy_slope, EntropySlope)            \
    X(logit_entropy, LogitEntropy)            \
    X(logit_entropy_slope, LogitEntropySlope) \
    X(focal, Focal)                           \
    X(focal_slope, FocalSlope)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

constexpr double kLeastLog = -100, kLeastSpread = 1e-12;

template <class V>
HWY_INLINE V not_below(V x, double least) {
    return choose(hn::Lt(x, all<V>(least)), all<V>(least), x);
}

struct Entropy {
    static constexpr size_t kIns = 3;
    static double one(double x, double t, double w, double) {
        const double first = std::log(x), rest = std::log1p(-x);
        return w * ((t - 1) * (rest < kLeastLog ? kLeastLog : rest) - t * (first < kLeastLog ? kLeastLog : first));
    }
    template <class V>
    static HWY_INLINE V many(V x, V t, V w, V) {
        const V first = not_below(log(x), kLeastLog), rest = not_below(log1p(hn::Neg(x)), kLeastLog);
        return w * ((t - all<V>(1)) * rest - t * first);
    }
};

struct EntropySlope {
    static constexpr size_t kIns = 4;
    static double one(double g, double x, double t, double w, double factor) {
        const double spread = x * (1 - x);
        return g * w * factor * ((x - t) / (spread < kLeastSpread ? kLeastSpread : spread));
    }
    template <class V>
    static HWY_INLINE V many(V g, V x, V t, V w, V factor) {
        return g * w * factor * ((x - t) / not_below(x * (all<V>(1) - x), kLeastSpread));
    }
};

/// (1 - t) x - (1 + (p - 1) t) log(logistic(x)); below 0, where the logarithm is about x, without the difference of
/// both. That of -inf is NaN, as in the sum.
struct LogitEntropy {
    static constexpr size_t kIns = 4;
    /// `small` is exp(-|x|).
    static double of(double x, double t, double p, double small) {
        const double plain = x < 0 ? (x - x) - p * t * x : (1 - t) * x;
        return plain + (1 + (p - 1) * t) * std::log1p(small);
    }
    static double one(double x, double t, double w, double p, double) {
        return w * of(x, t, p, std::exp(-std::fabs(x)));
    }
    template <class V>
    static HWY_INLINE V of(V x, V t, V p, V small) {
        const V unit = all<V>(1), plain = choose(is_negative(x), (x - x) - p * t * x, (unit - t) * x);
        return plain + (unit + (p - unit) * t) * log1p(small);
    }
    template <class V>
    static HWY_INLINE V many(V x, V t, V w, V p, V) {
        return w * of(x, t, p, exp_below(hn::Neg(absolute(x))));
    }
};

struct LogitEntropySlope {
    static constexpr size_t kIns = 5;
    static double one(double g, double x, double t, double w, double p, double factor) {
        return g * w * factor * ((p * t + 1 - t) * (1 / (1 + std::exp(-x))) - p * t);
    }
    template <class V>
    static HWY_INLINE V many(V g, V x, V t, V w, V p, V factor) {
        const V unit = all<V>(1), positive = p * t;
        return g * w * factor * ((positive + unit - t) * (unit / (unit + exp(hn::Neg(x)))) - positive);
    }
};

/// The logistic functions of x and of -x, and the entropy with a weight of the positive class of 1.
struct FocalTerms {
    Float of_plus, of_minus, other, entropy;

    HWY_INLINE FocalTerms(Float x, Float t) {
        const Float unit = spread(1.0F), small = exp_below(hn::Neg(absolute(x)));
        const Float large = unit / (unit + small), rest = small * large;
        of_plus = choose(is_negative(x), rest, large);
        of_minus = choose(is_negative(x), large, rest);
        other = of_plus * (unit - t) + of_minus * t;
        entropy = LogitEntropy::of(x, t, unit, small);
    }
};
struct OneFocalTerms {
    double of_plus, of_minus, other, entropy;

    OneFocalTerms(double x, double t) {
        const double small = std::exp(-std::fabs(x)), large = 1 / (1 + small), rest = small * large;
        of_plus = x < 0 ? rest : large;
        of_minus = x < 0 ? large : rest;
        other = of_plus * (1 - t) + of_minus * t;
        entropy = LogitEntropy::of(x, t, 1, small);
    }
};

/// The entropy times a power of the probability of the other class, times alpha for t = 1, 1 - alpha for t = 0; alpha
/// below 0: times 1.
struct Focal {
    static constexpr size_t kIns = 2, kNumbers = 3;
    static double share(double t, double alpha) { return alpha < 0 ? 1 : alpha * t + (1 - alpha) * (1 - t); }
    static double one(double x, double t, double, double alpha, double gamma) {
        const OneFocalTerms s(x, t);
        return share(t, alpha) * s.entropy * std::pow(s.other, gamma);
    }
    static HWY_INLINE Float share(Float t, Float alpha) {
        const Float unit = spread(1.0F);
        return choose(is_negative(alpha), unit, alpha * t + (unit - alpha) * (unit - t));
    }
    static HWY_INLINE Float many(Float x, Float t, Float, Float alpha, Float gamma) {
        const FocalTerms s(x, t);
        return share(t, alpha) * s.entropy * pow(s.other, gamma);
    }
};

struct FocalSlope {
    static constexpr size_t kIns = 3, kNumbers = 3;
    static double one(double g, double x, double t, double factor, double alpha, double gamma) {
        const OneFocalTerms s(x, t);
        double slope = (s.of_plus * (1 - t) - s.of_minus * t) * std::pow(s.other, gamma);
        if (gamma != 0) {
            const double turn = s.of_plus * s.of_minus * (1 - 2 * t);
            slope += gamma * std::pow(s.other, gamma - 1) * turn * s.entropy;
        }
        return factor * g * Focal::share(t, alpha) * slope;
    }
    static HWY_INLINE Float many(Float g, Float x, Float t, Float factor, Float alpha, Float gamma) {
        const Float unit = spread(1.0F);
        const FocalTerms s(x, t);
        const Float slope = (s.of_plus * (unit - t) - s.of_minus * t) * pow(s.other, gamma);
        const Float turn = s.of_plus * s.of_minus * (unit - spread(2.0F) * t);
        const Float turned = gamma * pow(s.other, gamma - unit) * turn * s.entropy;
        const Float all = choose(hn::Eq(gamma, spread(0.0F)), slope, slope + turned);
        return factor * g * Focal::share(t, alpha) * all;
    }
};

/// The first numbers of the state that a formula takes behind its operands.
template <class F>
constexpr size_t numbers_of() {
    if constexpr (requires { F::kNumbers; })
        return F::kNumbers;
    else
        return 1;
}

template <class F, class T, size_t... kIn, size_t... kNumber>
HWY_INLINE void entropy_vector(T* out, const void* const* in, int64_t i, int64_t n, const T* numbers,
                               std::index_sequence<kIn...>, std::index_sequence<kNumber...>) {
    store_up_to(many_of<F>(load_up_to(static_cast<const T*>(in[kIn]) + i, n, T{1})..., set(numbers[kNumber])...),
                out + i, n);
}

template <class F, class T>
void entropy_tile(void* const* out, const void* const* in, int64_t n, const void* numbers) {
    for (int64_t i = 0; i < n; i += kLanesOf<T>) {
        entropy_vector<F>(static_cast<T*>(out[0]), in, i, std::min(kLanesOf<T>, n - i), static_cast<const T*>(numbers),
                          std::make_index_sequence<F::kIns>(), std::make_index_sequence<numbers_of<F>()>());
    }
}

}  // namespace

#define DIOPI_ENTROPY_TILES(name, F) \
    RealTiles F##Tiles() { return {entropy_tile<F, float>, entropy_tile<F, double>}; }
ENTROPIES(DIOPI_ENTROPY_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

#define DIOPI_ENTROPY(name, F) \
    HWY_EXPORT(F##Tiles);      \
    RealTiles name##_tiles() { return HWY_DYNAMIC_DISPATCH(F##Tiles)(); }
ENTROPIES(DIOPI_ENTROPY)

}  // namespace diopi::cpu
#endif
