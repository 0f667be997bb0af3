/// add, sub, mul with a tensor or a number, into out or in place.
#include <cmath>
#include <type_traits>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The type that computes a product of wrapping integers: int would overflow for uint16.
template <class T>
using Product = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// a + alpha * b, rounded once for real numbers.
template <class T>
struct AddScaled {
    T alpha;
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>) {
            return static_cast<Bool>(uint8_t(a) | (uint8_t(alpha) & uint8_t(b)));
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(a + static_cast<Product<T>>(alpha) * b);
        } else if constexpr (kIsComplex<T>) {
            return T(std::fma(alpha.real(), b.real(), a.real()), std::fma(alpha.real(), b.imag(), a.imag()));
        } else {
            return std::fma(alpha, b, a);
        }
    }
};

template <class T>
struct Multiply {
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>) {
            return static_cast<Bool>(uint8_t(a) & uint8_t(b));
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<Product<T>>(a) * b);
        } else if constexpr (std::is_same_v<T, std::complex<float>>) {
            const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
            return T(static_cast<float>(ar * br - ai * bi), static_cast<float>(ar * bi + ai * br));
        } else if constexpr (kIsComplex<T>) {
            return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
        } else {
            return a * b;
        }
    }
};

template <auto kReadFactor>
diopiError_t add_scaled(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, const Other& other, const diopiScalar_t* alpha) {
    const Operands x = operands_of(out, input, other);
    diopiScalar_t factor{};
    if (const diopiError_t error = kReadFactor(op, x, alpha, factor); error != diopiSuccess) return error;
    return run_wrapping(ctx, op, x, [&]<class T>() { return AddScaled<T>{number<T>(factor)}; });
}
constexpr auto add = add_scaled<read_sum>, sub = add_scaled<read_difference>;

diopiError_t mul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other) {
    const Operands x = operands_of(out, input, other);
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    return run_wrapping(ctx, op, x, []<class T>() { return Multiply<T>{}; });
}

}  // namespace

#include "kernels/entries/elementwise.inc"

}  // namespace diopi::cpu
