/// The choice of a kernel by the dtype of its elements, for kernels that convert half types themselves.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "core/half.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

[[nodiscard]] inline double to_double(double x) { return x; }
[[nodiscard]] inline double to_double(float x) { return static_cast<double>(x); }
[[nodiscard]] inline double to_double(Half x) { return static_cast<double>(to_float(x)); }
[[nodiscard]] inline double to_double(Bfloat16 x) { return static_cast<double>(to_float(x)); }

/// x, a float or a double, as an element, rounded once.
template <class E, class X>
[[nodiscard]] E rounded(X x) {
    if constexpr (std::is_same_v<E, Half>)
        return to_half(x);
    else if constexpr (std::is_same_v<E, Bfloat16>)
        return to_bfloat16(x);
    else
        return static_cast<E>(x);
}

/// Calls f.template operator()<E, T>() for tensors whose dtypes are computable: E is the type of their elements, and T
/// the one that E computes in. Tensors of several dtypes are to be converted to T, which then is E, too.
template <class F>
diopiError_t with_elements(std::initializer_list<Dtype> dtypes, F&& f) {
    const Dtype first = *dtypes.begin();
    if (std::ranges::find(dtypes, Dtype::float64) != dtypes.end()) return f.template operator()<double, double>();
    const bool is_one = std::ranges::all_of(dtypes, [=](Dtype dtype) { return dtype == first; });
    if (is_one && first == Dtype::float16) return f.template operator()<Half, float>();
    if (is_one && first == Dtype::bfloat16) return f.template operator()<Bfloat16, float>();
    return f.template operator()<float, float>();
}

}  // namespace diopi::cpu
