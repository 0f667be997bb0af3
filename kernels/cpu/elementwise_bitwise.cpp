/// Bits of integers and of bool.
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary_exact.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// F on the bits of two elements, or of one. Other types occur in no call.
template <class T, class F>
struct OnBits {
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(F()(a, b));
        else if constexpr (std::is_same_v<T, Bool>)
            return static_cast<Bool>(F()(static_cast<uint8_t>(a), static_cast<uint8_t>(b)));
        else
            return a;
    }
};
using And = std::bit_and<>;
using Or = std::bit_or<>;

template <class T>
struct Not {
    T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(~x);
        else if constexpr (std::is_same_v<T, Bool>)
            return x == Bool::kTrue ? Bool::kFalse : Bool::kTrue;
        else
            return x;
    }
};

template <class F>
diopiError_t bitwise(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const Other& other) {
    const Operands x = operands_of(out, input, other);
    if (const diopiError_t error = check_bits(op, x); error != diopiSuccess) return error;
    return run_wrapping(ctx, op, x, []<class T>() { return OnBits<T, F>{}; });
}

diopiError_t bitwise_not(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input) {
    if (const diopiError_t error = check_bits(op, view(input).dtype); error != diopiSuccess) return error;
    return map_same<Not>(ctx, op, out, input);
}

}  // namespace

#include "kernels/entries/elementwise_bitwise.inc"

}  // namespace diopi::cpu
