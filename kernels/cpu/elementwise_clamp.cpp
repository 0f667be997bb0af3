/// Numbers limited to a range.
#include <limits>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The bounds of all numbers, which limit none.
template <class T>
constexpr T kLeast = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kMost = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
template <>
constexpr Bool kLeast<Bool> = Bool::kFalse;
template <>
constexpr Bool kMost<Bool> = Bool::kTrue;

/// NaN where either is NaN.
template <class T>
struct AtLeast {
    using Selects = void;
    T operator()(T x, T low) const { return x < low || low != low ? low : x; }
};
template <class T>
struct AtMost {
    using Selects = void;
    T operator()(T x, T high) const { return x > high || high != high ? high : x; }
};

/// NaN where any of the three is NaN; high where the bounds contradict each other.
template <class T>
T limited(T x, T low, T high) {
    return AtMost<T>()(AtLeast<T>()(x, low), high);
}

template <class T>
struct Clamp {
    using Selects = void;
    T operator()(T x, T low, T high) const { return limited(x, low, high); }
};

/// Bounds that are numbers.
template <class T>
struct ClampToNumbers {
    using Selects = void;
    T low, high;
    T operator()(T x) const { return limited(x, low, high); }
};

template <class T>
diopiError_t clamp(diopiContextHandle_t ctx, std::string_view op, const Bounds& x, Dtype compute, bool has_tensors) {
    if (!has_tensors) {
        const ClampToNumbers<T> f{x.has_min ? number<T>(x.least) : kLeast<T>, x.has_max ? number<T>(x.most) : kMost<T>};
        return for_each_tile(ctx, op, {&x.out, 1}, {&x.input, 1}, unary<T>(compute, f));
    }
    if (!x.has_max) {
        const AtLeast<T> f;
        return for_each_tile(ctx, op, {&x.out, 1}, std::array{x.input, x.min}, binary<T>(compute, f));
    }
    if (!x.has_min) {
        const AtMost<T> f;
        return for_each_tile(ctx, op, {&x.out, 1}, std::array{x.input, x.max}, binary<T>(compute, f));
    }
    const Clamp<T> f;
    return for_each_tile(ctx, op, {&x.out, 1}, std::array{x.input, x.min, x.max}, ternary<T>(compute, f));
}

diopiError_t clamp(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t input, const Other& min, const Other& max) {
    Bounds x{view(out), view(input), number_view(Dtype::boolean), number_view(Dtype::boolean)};
    if (const diopiError_t error = read_bounds(op, min, max, x); error != diopiSuccess) return error;
    if (x.out.numel == 0) return diopiSuccess;
    std::vector<View> ins = {x.input};
    for (const View& bound : {x.min, x.max}) {
        if (bound.data != nullptr) ins.push_back(bound);
    }
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    return with_type(compute, [&]<class T>() {
        if constexpr (kIsComplex<T>)
            return unsupported(op, "input", x.result, "a real dtype");
        else
            return clamp<T>(ctx, op, x, compute, ins.size() > 1);
    });
}

diopiError_t clamp_min(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, const Other& min) {
    return clamp(ctx, op, out, input, min, static_cast<const diopiScalar_t*>(nullptr));
}

diopiError_t clamp_max(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, const Other& max) {
    return clamp(ctx, op, out, input, static_cast<const diopiScalar_t*>(nullptr), max);
}

}  // namespace

#include "kernels/entries/elementwise_clamp.inc"

}  // namespace diopi::cpu
