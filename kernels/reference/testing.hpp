/// For tests of the reference kernels: tensors from lists of numbers, and numerical derivatives.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/half.hpp"
#include "core/philox.hpp"
#include "core/strided.hpp"
#include "runtime/context.hpp"
#include "runtime/device.hpp"
#include "runtime/generator.hpp"

namespace diopi::reference::testing {

using Values = std::vector<double>;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// Element `offset` of the storage as a double, and its assignment: one element at a time, by core's conversions.
inline double get(const Tensor& t, int64_t offset) {
    switch (t.dtype) {
        case Dtype::float64:
            return t.data_as<double>()[offset];
        case Dtype::float32:
            return static_cast<double>(t.data_as<float>()[offset]);
        case Dtype::float16:
            return static_cast<double>(to_float(t.data_as<Half>()[offset]));
        case Dtype::bfloat16:
            return static_cast<double>(to_float(t.data_as<Bfloat16>()[offset]));
        case Dtype::int64:
            return static_cast<double>(t.data_as<int64_t>()[offset]);
        case Dtype::int32:
            return t.data_as<int32_t>()[offset];
        case Dtype::int8:
            return t.data_as<int8_t>()[offset];
        case Dtype::uint8:
        case Dtype::boolean:
            return t.data_as<uint8_t>()[offset];
        default:
            FAIL("a dtype that the test helper does not know");
            return 0;
    }
}

inline void set(const Tensor& t, int64_t offset, double x) {
    switch (t.dtype) {
        case Dtype::float64:
            t.data_as<double>()[offset] = x;
            break;
        case Dtype::float32:
            t.data_as<float>()[offset] = static_cast<float>(x);
            break;
        case Dtype::float16:
            t.data_as<Half>()[offset] = to_half(x);
            break;
        case Dtype::bfloat16:
            t.data_as<Bfloat16>()[offset] = to_bfloat16(x);
            break;
        case Dtype::int64:
            t.data_as<int64_t>()[offset] = static_cast<int64_t>(x);
            break;
        case Dtype::int32:
            t.data_as<int32_t>()[offset] = static_cast<int32_t>(x);
            break;
        case Dtype::int8:
            t.data_as<int8_t>()[offset] = static_cast<int8_t>(x);
            break;
        case Dtype::uint8:
        case Dtype::boolean:
            t.data_as<uint8_t>()[offset] = static_cast<uint8_t>(x);
            break;
        default:
            FAIL("a dtype that the test helper does not know");
    }
}

/// A tensor filled with -77, so that an element that a kernel does not write is found.
inline TensorPtr make(Shape shape, Dtype dtype = Dtype::float64, Shape strides = {}) {
    auto made = make_tensor(cpu_device(), {std::move(shape), dtype, std::move(strides)});
    REQUIRE(made.ok());
    for_each_offset((*made)->shape, (*made)->strides, [&](int64_t offset) { set(**made, offset, -77); });
    return *made;
}

/// A tensor with these elements in row-major order.
inline TensorPtr tensor(Shape shape, const Values& values, Dtype dtype = Dtype::float64, Shape strides = {}) {
    TensorPtr t = make(std::move(shape), dtype, std::move(strides));
    REQUIRE(t->numel() == static_cast<int64_t>(values.size()));
    size_t i = 0;
    for_each_offset(t->shape, t->strides, [&](int64_t offset) { set(*t, offset, values[i++]); });
    return t;
}

/// Numbers from -1 to 1; another `stream` gives others.
inline Values random_values(int64_t n, uint64_t stream) {
    Values values;
    for (int64_t i = 0; i < n; ++i) {
        const auto words = philox(2024, static_cast<uint64_t>(i), stream);
        values.push_back(2.0 * unit_double(words[0], words[1]) - 1.0);
    }
    return values;
}

inline TensorPtr random(const Shape& shape, uint64_t stream, Dtype dtype = Dtype::float64) {
    return tensor(shape, random_values(numel(shape), stream), dtype);
}

inline Values values_of(const Tensor& t) {
    Values values;
    for_each_offset(t.shape, t.strides, [&](int64_t offset) { values.push_back(get(t, offset)); });
    return values;
}
inline Values values_of(const TensorPtr& t) { return values_of(*t); }

/// Equal within a relative bound, and NaN where NaN is expected.
inline void check_close(const Values& came, const Values& wanted, double bound = 1e-12) {
    REQUIRE(came.size() == wanted.size());
    for (size_t i = 0; i < came.size(); ++i) {
        INFO("element " << i << " is " << came[i] << ", wanted " << wanted[i]);
        if (std::isnan(wanted[i])) {
            CHECK(std::isnan(came[i]));
        } else if (std::isinf(wanted[i])) {
            CHECK(came[i] == wanted[i]);
        } else {
            CHECK(std::fabs(came[i] - wanted[i]) <= bound * std::max(1.0, std::fabs(wanted[i])));
        }
    }
}
inline void check_close(const TensorPtr& came, const Values& wanted, double bound = 1e-12) {
    check_close(values_of(came), wanted, bound);
}

inline diopiContextHandle_t context() {
    static Context ctx(cpu_device());
    return &ctx;
}

/// A list that is valid until the end of its statement.
inline diopiSize_t sizes(const Shape& list) { return {list.data(), static_cast<int64_t>(list.size())}; }

inline diopiScalar_t number(double x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_float64;
    s.fval = x;
    return s;
}
inline diopiScalar_t number(int64_t x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_int64;
    s.ival = x;
    return s;
}
inline diopiScalar_t number(int x) { return number(int64_t{x}); }
inline diopiScalar_t number(bool x) {
    diopiScalar_t s{};
    s.stype = diopi_dtype_bool;
    s.ival = x;
    return s;
}

/// Compares `gradient` with central differences of functional(x) = sum of weights * out(x), where `run` computes out
/// from x. Both must agree within 1e-6 of the largest gradient.
template <class Run>
void check_gradient(const TensorPtr& x, const TensorPtr& gradient, const Values& weights, const Run& run) {
    REQUIRE(gradient->shape == x->shape);
    const Values analytic = values_of(gradient);
    double largest = 0.0;
    for (const double g : analytic) largest = std::max(largest, std::fabs(g));
    REQUIRE(largest > 0.0);
    const auto functional = [&] {
        const Values out = run();
        REQUIRE(out.size() == weights.size());
        double sum = 0.0;
        for (size_t i = 0; i < out.size(); ++i) sum += weights[i] * out[i];
        return sum;
    };
    double worst = 0.0;
    for (int64_t i = 0; i < x->numel(); ++i) {
        double& element = x->data_as<double>()[i];
        const double kept = element;
        const double step = 1e-6 * std::max(1.0, std::fabs(kept));
        element = kept + step;
        const double above = functional();
        element = kept - step;
        const double below = functional();
        element = kept;
        worst = std::max(worst, std::fabs((above - below) / (2.0 * step) - analytic[static_cast<size_t>(i)]));
    }
    INFO("largest gradient " << largest << ", worst difference " << worst);
    CHECK(worst < 1e-6 * std::max(largest, 1e-3));
}

}  // namespace diopi::reference::testing
