/// The larger and the smaller of two numbers.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// NaN where either is NaN.
template <class T, bool kLarger>
struct Extreme {
    using Selects = void;
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T chosen = (a > b) == kLarger ? a : b;
            return a != a ? a : b != b ? b : chosen;
        } else {
            return (a > b) == kLarger ? a : b;
        }
    }
};
template <class T>
using Larger = Extreme<T, true>;
template <class T>
using Smaller = Extreme<T, false>;

template <template <class> class F>
diopiError_t extreme(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const Other& other) {
    Operands x = operands_of(out, input, other);
    if (const diopiError_t error = read_ordered(op, x); error != diopiSuccess) return error;
    const auto in_type = [&]<class T>(Dtype compute) {
        F<T> f;
        return run<T>(ctx, op, x, compute, f);
    };
    if (!is_floating(x.result)) return with_integers(x, in_type);
    if (wide(x.result) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
}

}  // namespace

#include "kernels/entries/elementwise_extreme.inc"

}  // namespace diopi::cpu
