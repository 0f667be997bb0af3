/// The larger and the smaller of two numbers.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// NaN where either is NaN.
template <class T, bool kLarger>
struct Extreme {
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T chosen = (a > b) == kLarger ? a : b;
            return a != a ? a : b != b ? b : chosen;
        } else {
            return (a > b) == kLarger ? a : b;
        }
    }
};

template <bool kLarger>
diopiError_t extreme(diopiContextHandle_t ctx, std::string_view op, Operands x) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    if (is_complex(x.result)) return unsupported(op, "input", x.result, "a real dtype");
    const auto in_type = [&]<class T>(Dtype compute) {
        Extreme<T, kLarger> f;
        return run<T>(ctx, op, x, compute, f);
    };
    if (!is_floating(x.result)) return with_integers(x, in_type);
    if (wide(x.result) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
}

}  // namespace

diopiError_t diopiMaximum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme<true>(ctx, "diopiMaximum", with_tensor(out, input, other));
}

diopiError_t diopiMinimum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
    return extreme<false>(ctx, "diopiMinimum", with_tensor(out, input, other));
}

}  // namespace diopi::cpu
