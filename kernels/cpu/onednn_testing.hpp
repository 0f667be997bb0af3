/// For tests of convolutions, products and pools: tensors with values that their dtype holds exactly, and comparison in
/// units of the dtype's roundoff.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/value.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::testing {

using cpu::testing::kInf;
using cpu::testing::kNan;
using Values = std::vector<double>;

inline constexpr Dtype kFloats[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// In row-major order.
inline Values values(const Tensor& t) {
    Values out;
    for_each_offset(t.shape, t.strides,
                    [&](int64_t at) { out.push_back(cpu::testing::read(t.dtype, t.data(), at).real()); });
    return out;
}

inline TensorPtr tensor(const Shape& shape, Dtype dtype, const Values& from, const Shape& strides = {}) {
    auto made = make_tensor(cpu_device(), {shape, dtype, strides});
    REQUIRE(made.ok());
    size_t next = 0;
    for_each_offset(shape, (*made)->strides,
                    [&](int64_t at) { cpu::testing::write(dtype, (*made)->data(), at, from.at(next++)); });
    return *made;
}

/// Values in [-2, 2] that depend on the seed; multiples of 1/32, which every dtype holds.
inline TensorPtr random(const Shape& shape, Dtype dtype, uint32_t seed, const Shape& strides = {}) {
    Values from(static_cast<size_t>(numel(shape)));
    uint32_t state = seed * 2654435761U + 12345U;
    for (double& x : from) {
        state = state * 1664525U + 1013904223U;
        x = (static_cast<double>((state >> 16) % 129) - 64) / 32;
    }
    return tensor(shape, dtype, from, strides);
}

/// A tensor full of a value that no test expects.
inline TensorPtr unwritten(const Shape& shape, Dtype dtype, const Shape& strides = {}) {
    return tensor(shape, dtype, Values(static_cast<size_t>(numel(shape)), 12345), strides);
}

/// Strides of an image tensor whose channels are last in memory.
inline Shape channels_last(const Shape& s) {
    Shape strides(s.size(), 1);
    int64_t next = s[1];
    for (size_t d = s.size(); d-- > 2; next *= s[d]) strides[d] = next;
    strides[0] = next;
    return strides;
}
/// Strides of the transpose of dense memory, with a gap after every element.
inline Shape scattered(const Shape& shape) {
    Shape strides(shape.size());
    int64_t next = 2;
    for (size_t d = 0; d < shape.size(); ++d) {
        strides[d] = next;
        next *= std::max<int64_t>(shape[d], 1);
    }
    return strides;
}

/// The roundoff of a result of that dtype.
inline double roundoff(Dtype dtype) {
    switch (dtype) {
        case Dtype::float16:
            return 0x1p-11;
        case Dtype::bfloat16:
            return 0x1p-8;
        case Dtype::float64:
            return 0x1p-53;
        default:
            return 0x1p-24;
    }
}

/// Checks that every element is within half an ulp of its dtype plus `sums` roundoffs of the compute type times
/// `scale`, and NaN where NaN is expected.
inline void check_close(const Tensor& t, const Values& expected, double sums = 32, double scale = 4) {
    const Values got = values(t);
    REQUIRE(got.size() == expected.size());
    const double compute = t.dtype == Dtype::float64 ? 0x1p-53 : 0x1p-24;
    for (size_t i = 0; i < got.size(); ++i) {
        INFO("element " << i << " of " << to_string(t.shape) << " " << name(t.dtype));
        if (std::isnan(expected[i]) || std::isinf(expected[i])) {
            const bool same = std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i];
            if (!same) REQUIRE(got[i] == expected[i]);
            continue;
        }
        // Denormals of float16 lie 2^-24 apart.
        const double coarse = t.dtype == Dtype::float16 ? 0x1p-25 : 0;
        const double bound = std::abs(expected[i]) * roundoff(t.dtype) * 1.01 + sums * compute * scale + coarse;
        if (!(std::abs(got[i] - expected[i]) <= bound)) REQUIRE(got[i] == Approx(expected[i]).margin(bound));
    }
}

inline diopiSize_t list(const IntList& v) { return {v.data(), static_cast<int64_t>(v.size())}; }

}  // namespace diopi::testing
