#include "core/convert.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "core/half_simd.hpp"
#include "core/instruction_sets.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

using Complex = std::complex<double>;

/// The memory layout of complex32.
struct ComplexHalf {
    Half real, imag;
};

/// Calls visit(T{}) with the element type of a dtype.
template <class Visit>
void with_element_type(Dtype dtype, Visit&& visit) {
    switch (dtype) {
        case Dtype::int8:
            return visit(int8_t{});
        case Dtype::uint8:
            return visit(uint8_t{});
        case Dtype::int16:
            return visit(int16_t{});
        case Dtype::uint16:
            return visit(uint16_t{});
        case Dtype::int32:
            return visit(int32_t{});
        case Dtype::uint32:
            return visit(uint32_t{});
        case Dtype::int64:
            return visit(int64_t{});
        case Dtype::uint64:
            return visit(uint64_t{});
        case Dtype::float16:
            return visit(Half{});
        case Dtype::bfloat16:
            return visit(Bfloat16{});
        case Dtype::float32:
        case Dtype::tfloat32:
            return visit(float{});
        case Dtype::float64:
            return visit(double{});
        case Dtype::boolean:
            return visit(bool{});
        case Dtype::complex32:
            return visit(ComplexHalf{});
        case Dtype::complex64:
            return visit(std::complex<float>{});
        case Dtype::complex128:
            return visit(Complex{});
        case Dtype::unsupported:
            return;
    }
}

template <class Out, class In>
Out widened(In x) {
    if constexpr (std::is_same_v<In, ComplexHalf>) {
        return widened<Out>(Complex(to_float(x.real), to_float(x.imag)));
    } else if constexpr (std::is_same_v<In, Half> || std::is_same_v<In, Bfloat16>) {
        return widened<Out>(to_float(x));
    } else if constexpr (std::is_same_v<In, std::complex<float>>) {
        return widened<Out>(Complex(x.real(), x.imag()));
    } else if constexpr (std::is_same_v<In, Complex>) {
        if constexpr (std::is_same_v<Out, Complex>)
            return x;
        else
            return static_cast<Out>(x.real());
    } else if constexpr (std::is_floating_point_v<In> && std::is_same_v<Out, int64_t>) {
        return std::fabs(x) < In(0x1p63) ? static_cast<int64_t>(x) : 0;
    } else {
        return static_cast<Out>(x);
    }
}

template <class Out, class In>
Out narrowed(In x) {
    if constexpr (std::is_same_v<In, Complex>) {
        if constexpr (std::is_same_v<Out, Complex>)
            return x;
        else if constexpr (std::is_same_v<Out, std::complex<float>>)
            return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
        else if constexpr (std::is_same_v<Out, ComplexHalf>)
            return {to_half(x.real()), to_half(x.imag())};
        else
            return narrowed<Out>(x.real());
    } else if constexpr (std::is_same_v<Out, Half>) {
        return to_half(static_cast<double>(x));
    } else if constexpr (std::is_same_v<Out, Bfloat16>) {
        return to_bfloat16(static_cast<double>(x));
    } else if constexpr (std::is_same_v<Out, ComplexHalf>) {
        return {to_half(static_cast<double>(x)), Half{}};
    } else if constexpr (std::is_floating_point_v<In> && std::is_integral_v<Out> && !std::is_same_v<Out, bool>) {
        return static_cast<Out>(widened<int64_t>(x));
    } else {
        return static_cast<Out>(x);
    }
}

template <class T>
constexpr bool is_wide =
    std::is_same_v<T, double> || std::is_same_v<T, int64_t> || std::is_same_v<T, bool> || std::is_same_v<T, Complex>;

template <class In, class Out>
void widen_elements(const In* from, int64_t n, Out* to) {
    std::transform(from, from + n, to, [](In x) { return widened<Out>(x); });
}

}  // namespace

Dtype wide_dtype(Dtype dtype) {
    if (dtype == Dtype::boolean) return Dtype::boolean;
    if (is_complex(dtype)) return Dtype::complex128;
    return is_floating(dtype) ? Dtype::float64 : Dtype::int64;
}

void widen(const Tensor& from, const Tensor& to) {
    if (from.numel() == 0) return;
    if (from.dtype == to.dtype) return copy_strided(from, to);
    if (!from.is_contiguous()) {
        // The elements are gathered in the narrow dtype: that moves fewer bytes, and the conversion stays a plain loop.
        Tensor packed = from;
        std::shared_ptr<std::byte[]> memory(new std::byte[from.nbytes()]);
        packed.storage = {memory, from.nbytes(), diopi_host};
        packed.offset = 0;
        packed.strides = contiguous_strides(from.shape);
        copy_strided(from, packed);
        return widen(packed, to);
    }
    const int64_t n = from.numel();
    with_element_type(from.dtype, [&](auto in) {
        using In = decltype(in);
        with_element_type(to.dtype, [&](auto out) {
            using Out = decltype(out);
            if constexpr (is_wide<Out>) {
                best<widen_elements<In, Out>>()(from.data_as<In>(), n, to.data_as<Out>());
            }
        });
    });
}

void widen(Dtype dtype, const void* from, int64_t n, double* to) {
    with_element_type(dtype, [&](auto in) {
        using In = decltype(in);
        if constexpr (std::is_floating_point_v<In> || std::is_same_v<In, Half> || std::is_same_v<In, Bfloat16>) {
            best<widen_elements<In, double>>()(static_cast<const In*>(from), n, to);
        }
    });
}

namespace {

template <class In, class Out>
void narrow_elements(const In* from, int64_t n, Out* to) {
    if constexpr (std::is_same_v<In, double> && std::is_same_v<Out, Half>) {
        to_half(std::span<const double>(from, static_cast<size_t>(n)), to);
    } else if constexpr (std::is_same_v<In, double> && std::is_same_v<Out, Bfloat16>) {
        to_bfloat16(std::span<const double>(from, static_cast<size_t>(n)), to);
    } else {
        std::transform(from, from + n, to, [](In x) { return narrowed<Out>(x); });
    }
}

}  // namespace

void narrow(const Tensor& from, const Tensor& to) {
    if (from.numel() == 0) return;
    with_element_type(from.dtype, [&](auto in) {
        using In = decltype(in);
        if constexpr (is_wide<In>) {
            with_element_type(to.dtype, [&](auto out) {
                narrow_elements(from.data_as<In>(), from.numel(), to.data_as<decltype(out)>());
            });
        }
    });
}

}  // namespace diopi
