/// Small tensors for the tests of this folder.
#pragma once

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "check/oracle.hpp"
#include "core/half.hpp"

namespace diopi::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr Dtype kFloats[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// Stores `x` rounded to nearest as element `i` of a floating tensor.
inline void store(const Tensor& tensor, int64_t i, double x) {
    switch (tensor.dtype) {
        case Dtype::float16:
            tensor.data_as<Half>()[i] = to_half(x);
            break;
        case Dtype::bfloat16:
            tensor.data_as<Bfloat16>()[i] = to_bfloat16(x);
            break;
        case Dtype::float32:
            tensor.data_as<float>()[i] = static_cast<float>(x);
            break;
        default:
            tensor.data_as<double>()[i] = x;
            break;
    }
}

/// A contiguous tensor with these elements of type T.
template <class T>
Tensor tensor_of(const Shape& shape, Dtype dtype, const std::vector<T>& values) {
    Tensor tensor = make_host_tensor(shape, dtype);
    std::copy(values.begin(), values.end(), tensor.data_as<T>());
    return tensor;
}

/// The oracle: float64 values.
inline Tensor oracle_of(const Shape& shape, const std::vector<double>& values) {
    return tensor_of(shape, Dtype::float64, values);
}

/// The output of a perfect operator: the oracle rounded once.
inline Tensor rounded_to(Dtype dtype, const Shape& shape, const std::vector<double>& values) {
    Tensor tensor = make_host_tensor(shape, dtype);
    for (size_t i = 0; i < values.size(); ++i) store(tensor, static_cast<int64_t>(i), values[i]);
    return tensor;
}

/// `n` numbers between -2 and 2, none of them a short binary fraction.
inline std::vector<double> reals(int64_t n, unsigned seed = 1) {
    std::mt19937_64 bits(seed);
    std::vector<double> values(static_cast<size_t>(n));
    for (double& x : values) x = (static_cast<double>(bits() >> 11) * 0x1p-53 - 0.5) * 4;
    return values;
}

/// Moves element `i` of a half or float32 tensor to the next value away from zero.
inline void bump(const Tensor& tensor, int64_t i) {
    if (is_half(tensor.dtype)) {
        ++tensor.data_as<uint16_t>()[i];
    } else {
        ++tensor.data_as<uint32_t>()[i];
    }
}

}  // namespace diopi::testing
