/// Numbers limited to a range.
#include <limits>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/ternary.hpp"

namespace diopi::reference {

namespace {

[[nodiscard]] bool is_absent(const Other& bound) { return bound.tensor == nullptr && bound.scalar == nullptr; }

/// x, or the bound that it exceeds; the upper one where both contradict each other. NaN where any of them is NaN.
template <class T>
T limited(T x, T low, T high) {
    if (x != x || low != low || high != high) return std::numeric_limits<T>::quiet_NaN();
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
}

/// The bound; a number beyond the integers of the dtype becomes the last of them, which is stored in `held`.
Other within_range(const Other& bound, Dtype dtype, diopiScalar_t& held) {
    if (bound.scalar == nullptr || !is_integer(dtype)) return bound;
    held = {diopi_dtype_int64, {.ival = saturate_integer(scalar_as<int64_t>(*bound.scalar), dtype)}};
    return &held;
}

/// out = input limited to [min, max]; either may be absent. Source: torch.clamp.
diopiError_t clamp(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   const Other& min, const Other& max) {
    return kernel([&] {
        if (is_absent(min) && is_absent(max)) refuse("min and max are null, wanted one of them");
        const Dtype dtype = result_dtype({input, min, max});
        in_kind(dtype, [&]<class T>(T) {
            if constexpr (std::is_same_v<T, Complex>) {
                refuse_dtype("input", dtype, "a real dtype: complex numbers have no order");
            } else {
                using Limits = std::numeric_limits<T>;
                const T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
                const T largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
                diopiScalar_t first{}, last{};
                const Promoted<T> x(input, "input", dtype), low(within_range(min, dtype, first), "min", dtype, least);
                const Promoted<T> high(within_range(max, dtype, last), "max", dtype, largest);
                Output<T> y(out, "out");
                combine(y, x, low, high, limited<T>);
                y.store();
            }
        });
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

}  // namespace diopi::reference
