/// The greatest and the least elements, their places, and whether any or all elements are true.
#include <complex>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/reduction_choice.hpp"
#include "kernels/cpu/reduction_fold.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

constexpr bool Greatest = true, Least = false;
constexpr bool Any = true, All = false;

template <class T, bool kGreatest>
struct ExtremeOf {
    using Element = T;
    using Accumulator = T;
    static constexpr int64_t kVectors = 8;
    static T start() {
        using Limits = std::numeric_limits<T>;
        if constexpr (Limits::has_infinity)
            return kGreatest ? -Limits::infinity() : Limits::infinity();
        else
            return kGreatest ? Limits::min() : Limits::max();
    }
    template <class V>
    [[gnu::always_inline]] static void take(V& a, const V& x) {
        a = (kGreatest ? x > a : x < a) | (x != x) ? x : a;
    }
    template <class V>
    requires std::is_floating_point_v<T>
    [[gnu::always_inline]] static void take_number(V& a, const V& x) { a = (kGreatest ? x > a : x < a) ? x : a; }
    static T step(T a, T x) {
        take(a, x);
        return a;
    }
    static T join(T a, T b) { return (a != a) ? a : step(a, b); }
    static T finish(T a) { return a; }
};

/// An accumulator that is not 0 has met an element that decides: one that is true for any, false for all.
template <class T, bool kAny>
struct Truth {
    using Element = T;
    using Accumulator = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    static Accumulator start() { return 0; }
    static Accumulator step(Accumulator a, T x) { return a | ((x != T{}) == kAny ? 1 : 0); }
    static Accumulator join(Accumulator a, Accumulator b) { return a | b; }
    static int64_t finish(Accumulator a) { return (a != 0) == kAny ? 1 : 0; }
};

/// Calls f.template operator()<T>(dtype of T) for the type that tiles of the dtype have.
template <class F>
diopiError_t with_tiles(Dtype dtype, F&& f) {
    switch (wide(dtype)) {
        case Dtype::float64:
            return f.template operator()<double>(Dtype::float64);
        case Dtype::float32:
            return f.template operator()<float>(Dtype::float32);
        default:
            return f.template operator()<int64_t>(Dtype::int64);
    }
}

template <bool kGreatest>
diopiError_t extreme_values(std::string_view op, const View& out, const View& in, ShapeView dims) {
    if (const diopiError_t error = check_ordered(op, in); error != diopiSuccess) return error;
    if (in.numel == 0 && out.numel > 0) return wrong_shape(op, "input", in.shape, "elements along dim");
    return with_tiles(in.dtype, [&]<class T>(Dtype tiles) {
        return fold_along(op, out, in, dims, tiles, tiles, ExtremeOf<T, kGreatest>());
    });
}

template <bool kGreatest>
diopiError_t extreme_over(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t dim, bool) {
    return extreme_values<kGreatest>(op, view(out), view(input), list_of(dim));
}

template <bool kGreatest>
diopiError_t extreme_of_all(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
    return extreme_values<kGreatest>(op, view(out), view(input), {});
}

template <bool kGreatest>
diopiError_t extreme_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t values,
                           diopiTensorHandle_t indices, diopiConstTensorHandle_t input, int64_t dim) {
    const View y = view(values), places = view(indices), x = view(input);
    if (const diopiError_t error = check_ordered(op, x); error != diopiSuccess) return error;
    if (!is_index(places.dtype)) return unsupported(op, "indices", places.dtype, "int64 or int32");
    return choose<kGreatest>(ctx, op, &y, places, x, {&dim, 1});
}

template <bool kGreatest>
diopiError_t place_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const int64_t* dim, bool) {
    const View to = view(out), in = view(input);
    if (const diopiError_t error = check_argmax(op, to, in); error != diopiSuccess) return error;
    return choose<kGreatest>(ctx, op, nullptr, to, in, dim == nullptr ? ShapeView() : ShapeView(dim, 1));
}

template <bool kAny>
diopiError_t truth(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   const int64_t* dim) {
    const View y = view(out), x = view(input);
    const ShapeView dims = dim == nullptr ? ShapeView() : ShapeView(dim, 1);
    if (is_complex(x.dtype)) {
        return fold_along(op, y, x, dims, Dtype::complex128, Dtype::int64, Truth<std::complex<double>, kAny>());
    }
    return with_tiles(x.dtype, [&]<class T>(Dtype tiles) {
        return fold_along(op, y, x, dims, tiles, Dtype::int64, Truth<T, kAny>());
    });
}

}  // namespace

#include "kernels/entries/reduction_extreme.inc"

}  // namespace diopi::cpu
