/// Exponentials of many numbers at once.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "kernels/reference/inexact.hpp"
#include "kernels/reference/vector_math.hpp"

namespace diopi::reference {

/// x[i] = exp(x[i]) for i from 0 to n - 1. A result depends on its element alone.
class Exponentials {
 public:
    /// Numbers of a block: a few of them stay in the fastest cache.
    static constexpr int64_t kBlock = 512;

    explicit Exponentials(const Context& context) : allows_vectors_(allows_vectors(context)) {}

    void operator()(double* x, int64_t n) const {
        if (allows_vectors_) return in_vectors::exp(x, x, n);
        for (int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i]);
    }
    /// At most kBlock numbers. Error bounds need no more digits than vectors give.
    void operator()(Inexact* x, int64_t n) const {
        std::array<double, kBlock> power = {}, growth = {};
        int large = 0;
        for (int64_t i = 0; i < n; ++i) {
            power[static_cast<size_t>(i)] = x[i].value;
            growth[static_cast<size_t>(i)] = x[i].error;
            large |= static_cast<int>(!has_small_error(x[i]));
        }
        in_vectors::exp(power.data(), power.data(), n);
        if (large != 0) in_vectors::expm1(growth.data(), growth.data(), n);
        for (int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<size_t>(i);
            x[i] = power_of(power[k], has_small_error(x[i]) ? growth_of_small(x[i]) : growth[k]);
        }
    }

 private:
    bool allows_vectors_;
};

}  // namespace diopi::reference
