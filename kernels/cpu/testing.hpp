/// Small tensors for the tests of the cpu kernels: written and read element by element as double, whatever the dtype.
#pragma once

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "core/half.hpp"
#include "core/strided.hpp"
#include "runtime/context.hpp"

namespace diopi::cpu::testing {

using Values = std::vector<double>;
using Complex = std::complex<double>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The context of the kernels.
inline diopiContext context(cpu_device());

inline void write(Dtype dtype, void* data, int64_t i, Complex z) {
    const double x = z.real();
    const auto whole = [&] { return static_cast<int64_t>(x); };
    switch (dtype) {
        case Dtype::int8:
            static_cast<int8_t*>(data)[i] = static_cast<int8_t>(whole());
            break;
        case Dtype::uint8:
            static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(whole());
            break;
        case Dtype::int16:
            static_cast<int16_t*>(data)[i] = static_cast<int16_t>(whole());
            break;
        case Dtype::uint16:
            static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(whole());
            break;
        case Dtype::int32:
            static_cast<int32_t*>(data)[i] = static_cast<int32_t>(whole());
            break;
        case Dtype::uint32:
            static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(whole());
            break;
        case Dtype::int64:
            static_cast<int64_t*>(data)[i] = whole();
            break;
        case Dtype::uint64:
            static_cast<uint64_t*>(data)[i] = static_cast<uint64_t>(whole());
            break;
        case Dtype::boolean:
            static_cast<uint8_t*>(data)[i] = x != 0;
            break;
        case Dtype::float16:
            static_cast<Half*>(data)[i] = to_half(x);
            break;
        case Dtype::bfloat16:
            static_cast<Bfloat16*>(data)[i] = to_bfloat16(x);
            break;
        case Dtype::float32:
        case Dtype::tfloat32:
            static_cast<float*>(data)[i] = static_cast<float>(x);
            break;
        case Dtype::float64:
            static_cast<double*>(data)[i] = x;
            break;
        case Dtype::complex32:
            static_cast<Half*>(data)[2 * i] = to_half(x);
            static_cast<Half*>(data)[2 * i + 1] = to_half(z.imag());
            break;
        case Dtype::complex64:
            static_cast<std::complex<float>*>(data)[i] = std::complex<float>(z);
            break;
        case Dtype::complex128:
            static_cast<Complex*>(data)[i] = z;
            break;
        case Dtype::unsupported:
            break;
    }
}

inline Complex read(Dtype dtype, const void* data, int64_t i) {
    switch (dtype) {
        case Dtype::int8:
            return static_cast<const int8_t*>(data)[i];
        case Dtype::uint8:
            return static_cast<const uint8_t*>(data)[i];
        case Dtype::int16:
            return static_cast<const int16_t*>(data)[i];
        case Dtype::uint16:
            return static_cast<const uint16_t*>(data)[i];
        case Dtype::int32:
            return static_cast<const int32_t*>(data)[i];
        case Dtype::uint32:
            return static_cast<const uint32_t*>(data)[i];
        case Dtype::int64:
            return static_cast<double>(static_cast<const int64_t*>(data)[i]);
        case Dtype::uint64:
            return static_cast<double>(static_cast<const uint64_t*>(data)[i]);
        case Dtype::boolean:
            return static_cast<const uint8_t*>(data)[i];
        case Dtype::float16:
            return to_float(static_cast<const Half*>(data)[i]);
        case Dtype::bfloat16:
            return to_float(static_cast<const Bfloat16*>(data)[i]);
        case Dtype::float32:
        case Dtype::tfloat32:
            return static_cast<const float*>(data)[i];
        case Dtype::float64:
            return static_cast<const double*>(data)[i];
        case Dtype::complex32:
            return {to_float(static_cast<const Half*>(data)[2 * i]),
                    to_float(static_cast<const Half*>(data)[2 * i + 1])};
        case Dtype::complex64:
            return Complex(static_cast<const std::complex<float>*>(data)[i]);
        case Dtype::complex128:
            return static_cast<const Complex*>(data)[i];
        case Dtype::unsupported:
            break;
    }
    return NAN;
}

/// A tensor whose bits are all 1 at first, so that elements that a kernel does not write are found.
inline TensorPtr blank(Dtype dtype, Shape shape, Shape strides = {}) {
    TensorPtr made = *make_tensor(cpu_device(), {std::move(shape), dtype, std::move(strides)});
    if (made->storage.nbytes > 0) std::memset(made->storage.memory.get(), 0xff, made->storage.nbytes);
    return made;
}

/// Element i (row-major) = f(i), a real or complex number.
template <class F>
TensorPtr generate(Dtype dtype, Shape shape, F&& f, Shape strides = {}) {
    TensorPtr made = blank(dtype, std::move(shape), std::move(strides));
    int64_t i = 0;
    for_each_offset(made->shape, made->strides,
                    [&](int64_t offset) { write(dtype, made->data(), offset, Complex(f(i++))); });
    return made;
}

inline TensorPtr tensor(Dtype dtype, Shape shape, const Values& values, Shape strides = {}) {
    return generate(
        dtype, std::move(shape), [&](int64_t i) { return values[static_cast<size_t>(i)]; }, std::move(strides));
}

/// The elements in row-major order.
inline std::vector<Complex> complex_values(const TensorPtr& t) {
    std::vector<Complex> all;
    for_each_offset(t->shape, t->strides, [&](int64_t offset) { all.push_back(read(t->dtype, t->data(), offset)); });
    return all;
}

inline Values values(const TensorPtr& t) {
    Values all;
    for (const Complex& z : complex_values(t)) all.push_back(z.real());
    return all;
}

/// x rounded to that dtype.
inline double rounded(Dtype dtype, double x) {
    alignas(16) std::byte bytes[16];
    write(dtype, bytes, 0, x);
    return read(dtype, bytes, 0).real();
}

/// Equal numbers with equal signs of zero, or both NaN.
inline bool same(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
}

inline bool same(const Values& a, const Values& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (!same(a[i], b[i])) return false;
    }
    return true;
}

/// Another view of the same storage.
inline TensorPtr alias(const TensorPtr& t, Shape shape, Shape strides, int64_t offset = 0) {
    auto made = std::make_shared<Tensor>(*t);
    made->shape = std::move(shape);
    made->strides = std::move(strides);
    made->offset += offset;
    return made;
}

inline diopiScalar_t scalar(double x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_float64;
    s.fval = x;
    return s;
}

inline diopiScalar_t scalar(int64_t x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_int64;
    s.ival = x;
    return s;
}

inline diopiScalar_t scalar(bool x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_bool;
    s.ival = x;
    return s;
}

}  // namespace diopi::cpu::testing
