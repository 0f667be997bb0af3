#include "check/oracle.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "core/convert.hpp"
#include "core/half.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

/// Calls visit(const T* data) with the element type of a real or complex tensor.
template <class Visit>
auto with_elements(const Tensor& tensor, Visit&& visit) {
    switch (tensor.dtype) {
        case Dtype::int8:
            return visit(tensor.data_as<const int8_t>());
        case Dtype::uint8:
            return visit(tensor.data_as<const uint8_t>());
        case Dtype::int16:
            return visit(tensor.data_as<const int16_t>());
        case Dtype::uint16:
            return visit(tensor.data_as<const uint16_t>());
        case Dtype::int32:
            return visit(tensor.data_as<const int32_t>());
        case Dtype::uint32:
            return visit(tensor.data_as<const uint32_t>());
        case Dtype::int64:
            return visit(tensor.data_as<const int64_t>());
        case Dtype::uint64:
            return visit(tensor.data_as<const uint64_t>());
        case Dtype::float16:
            return visit(tensor.data_as<const Half>());
        case Dtype::bfloat16:
            return visit(tensor.data_as<const Bfloat16>());
        case Dtype::tfloat32:
        case Dtype::float32:
            return visit(tensor.data_as<const float>());
        case Dtype::float64:
            return visit(tensor.data_as<const double>());
        case Dtype::complex32:
            return visit(tensor.data_as<const std::array<Half, 2>>());
        case Dtype::complex64:
            return visit(tensor.data_as<const std::complex<float>>());
        case Dtype::complex128:
            return visit(tensor.data_as<const std::complex<double>>());
        case Dtype::boolean:
        case Dtype::unsupported:
            break;
    }
    return visit(tensor.data_as<const uint8_t>());
}

/// Real and imaginary part; integers are exact up to 2^53.
std::complex<double> number(Half x) { return to_float(x); }
std::complex<double> number(Bfloat16 x) { return to_float(x); }
std::complex<double> number(const std::array<Half, 2>& x) { return {to_float(x[0]), to_float(x[1])}; }
template <class T>
std::complex<double> number(const std::complex<T>& x) {
    return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
}
template <class T>
requires std::is_arithmetic_v<T> std::complex<double> number(T x) { return static_cast<double>(x); }

int digits_of(Dtype output) {
    switch (significand_bits(output)) {
        case 8:
            return 5;
        case 11:
            return 6;
        case 24:
            return 9;
        default:
            return 17;
    }
}

std::string print_real(double x, int digits) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.*g", digits, x);
    return text.data();
}

/// The fewest digits, four at least, that read back as the same number of the dtype.
std::string print_shortest(double x, Dtype dtype) {
    for (int digits = 4; digits < 17; ++digits) {
        const std::string text = print_real(x, digits);
        const double back = std::strtod(text.c_str(), nullptr);
        const int significand = significand_bits(dtype);
        if (std::isnan(x) || round_to_precision(back, significand, -1022, HUGE_VAL) == x) return text;
    }
    return print_real(x, 17);
}

std::string print_complex(const std::string& real, const std::string& imaginary) {
    return real + (imaginary.front() == '-' ? "" : "+") + imaginary + "j";
}

}  // namespace

Tensor make_host_tensor(const Shape& shape, Dtype dtype) {
    Tensor tensor;
    tensor.shape = shape;
    tensor.strides = contiguous_strides(shape);
    tensor.dtype = dtype;
    tensor.storage.nbytes = tensor.nbytes();
    tensor.storage.memory = std::shared_ptr<std::byte[]>(new std::byte[tensor.storage.nbytes]);
    return tensor;
}

Tensor gathered(const Tensor& tensor) {
    if (tensor.is_contiguous()) return tensor;
    Tensor copy = make_host_tensor(tensor.shape, tensor.dtype);
    copy_strided(tensor, copy);
    return copy;
}

Tensor to_oracle(const Tensor& expected, Dtype wide) {
    if (expected.dtype == wide) return gathered(expected);
    Tensor result = make_host_tensor(expected.shape, wide);
    widen(expected, result);
    return result;
}

std::string print_element(const Tensor& tensor, int64_t flat) {
    return with_elements(tensor, [&](const auto* data) {
        using T = std::remove_cvref_t<decltype(*data)>;
        if constexpr (std::is_integral_v<T>) return std::to_string(data[flat]);
        const std::complex<double> x = number(data[flat]);
        const std::string real = print_shortest(x.real(), tensor.dtype);
        return is_complex(tensor.dtype) ? print_complex(real, print_shortest(x.imag(), tensor.dtype)) : real;
    });
}

std::string print_oracle(const Tensor& oracle, int64_t flat, Dtype output) {
    if (!is_floating(oracle.dtype) && !is_complex(oracle.dtype)) return print_element(oracle, flat);
    const int digits = digits_of(output);
    const double* parts = oracle.data_as<double>();
    if (!is_complex(oracle.dtype)) return print_real(parts[flat], digits);
    return print_complex(print_real(parts[2 * flat], digits), print_real(parts[2 * flat + 1], digits));
}

double real_of(const Tensor& tensor, int64_t flat) {
    return with_elements(tensor, [&](const auto* data) { return number(data[flat]).real(); });
}

Shape unravel(int64_t flat, ShapeView shape) {
    Shape index(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
        index[d] = flat % shape[d];
        flat /= shape[d];
    }
    return index;
}

}  // namespace diopi
