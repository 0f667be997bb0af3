/// Complex numbers and their parts.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary_exact.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Cartesian {
    std::complex<T> operator()(T re, T im) const { return {re, im}; }
};

template <class T>
struct Polar {
    std::complex<T> operator()(T abs, T angle) const { return {abs * std::cos(angle), abs * std::sin(angle)}; }
};

template <class T>
struct Conj {
    using Selects = void;
    using TakesComplex = void;
    T operator()(T x) const {
        if constexpr (kIsComplex<T>)
            return std::conj(x);
        else
            return x;
    }
};

template <class T>
struct RealPart {
    auto operator()(const T& x) const { return x.real(); }
};
template <class T>
struct ImaginaryPart {
    auto operator()(const T& x) const { return x.imag(); }
};

/// A complex number of two real ones.
template <template <class> class F>
diopiError_t join(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t first, diopiConstTensorHandle_t second) {
    const Operands x = operands_of(out, first, second);
    if (const diopiError_t error = check_broadcast(op, x); error != diopiSuccess) return error;
    if (!is_complex(x.out.dtype)) return unsupported(op, "out", x.out.dtype, "a complex dtype");
    if (is_complex(x.result)) return unsupported(op, "an operand", x.result, "a real dtype");
    const std::array ins = {x.input, x.other};
    const auto in_type = [&]<class T>(Dtype compute, Dtype stored) {
        const F<T> f;
        return for_each_tile(ctx, op, {&x.out, 1}, ins, map_to<2, T, std::complex<T>>(compute, stored, f));
    };
    if (x.out.dtype == Dtype::complex64 && is_floating(x.result) && x.result != Dtype::float64) {
        return in_type.template operator()<float>(Dtype::float32, Dtype::complex64);
    }
    return in_type.template operator()<double>(Dtype::float64, Dtype::complex128);
}

diopiError_t real_part(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View x = view(input);
    return is_complex(x.dtype) ? map_parts<RealPart>(ctx, op, view(out), x) : map_same<Conj>(ctx, op, out, input);
}

diopiError_t imaginary_part(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
    const View x = view(input);
    if (is_complex(x.dtype)) return map_parts<ImaginaryPart>(ctx, op, view(out), x);
    return unsupported(op, "input", x.dtype, "a complex dtype");
}

}  // namespace

#include "kernels/entries/elementwise_complex.inc"

}  // namespace diopi::cpu
