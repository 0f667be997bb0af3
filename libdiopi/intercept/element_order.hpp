/// The order of the elements of tensors of any real dtype, for comparisons of results that have several right forms.
#pragma once

#include <cmath>

#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "runtime/device.hpp"

namespace diopi {

/// The elements in their wide dtype, with NaN equal to NaN.
class Elements {
 public:
    explicit Elements(const Tensor& tensor) : wide_(to_oracle(tensor, wide_dtype(tensor.dtype))) {}

    [[nodiscard]] bool equal(int64_t a, const Elements& other, int64_t b) const {
        return !before(a, other, b) && !other.before(b, *this, a);
    }
    /// NaN comes after all numbers.
    [[nodiscard]] bool before(int64_t a, const Elements& other, int64_t b) const {
        if (wide_.dtype == Dtype::float64) {
            const double x = wide_.data_as<double>()[a], y = other.wide_.data_as<double>()[b];
            return x < y || (std::isnan(y) && !std::isnan(x));
        }
        if (wide_.dtype == Dtype::boolean) return wide_.data_as<bool>()[a] < other.wide_.data_as<bool>()[b];
        return wide_.data_as<int64_t>()[a] < other.wide_.data_as<int64_t>()[b];
    }

 private:
    Tensor wide_;
};

[[nodiscard]] inline Result<TensorPtr> in_int64(const Tensor& tensor) {
    auto made = make_tensor(cpu_device(), {tensor.shape, Dtype::int64, {}});
    if (made.ok()) widen(tensor, **made);
    return made;
}

}  // namespace diopi
