/// Numbers at a regular distance.
#include <cmath>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// Fills tiles of T and converts each to the dtype of `to`, which is dense.
template <class T>
void fill_steps(const View& to, Dtype compute, T start, T step) {
    const Convert convert = to.dtype == compute ? nullptr : converter(compute, to.dtype);
    alignas(64) T values[kTile];
    for (int64_t first = 0; first < to.numel; first += kTile) {
        const int64_t n = std::min(kTile, to.numel - first);
        std::byte* target = to.data + first * to.item_size();
        T* numbers = convert == nullptr ? reinterpret_cast<T*>(target) : values;
        for (int64_t i = 0; i < n; ++i) numbers[i] = start + static_cast<T>(first + i) * step;
        if (convert != nullptr) convert(values, target, n);
    }
}

/// ceil((end - start) / step) elements; less than 0 or NaN where step does not lead to end.
double steps_between(double start, double end, double step) { return std::ceil((end - start) / step); }

}  // namespace

diopiError_t diopiArange(diopiContextHandle_t ctx, diopiTensorHandle_t out, const diopiScalar_t* start,
                         const diopiScalar_t* end, const diopiScalar_t* step) {
    const View y = view(out);
    const bool floating = is_floating(y.dtype);
    if (is_complex(y.dtype)) return unsupported("diopiArange", "out", y.dtype, "a real dtype");
    const auto as_double = [&](const diopiScalar_t& x) {
        return floating ? number<double>(x) : static_cast<double>(number<int64_t>(x));
    };
    const double by = as_double(*step), count = steps_between(as_double(*start), as_double(*end), by);
    if (by == 0 || !(count >= 0)) {
        return fail(diopiErrorOccurred,
                    "diopiArange: step is " + std::to_string(by) + ", wanted one that leads from start to end");
    }
    if (y.rank() != 1 || static_cast<double>(y.numel) != count) {
        return wrong_shape("diopiArange", "out", y.shape,
                           "ceil((end - start) / step) = " + std::to_string(count) + " elements in 1 dimension");
    }
    View to = y;
    if (!y.is_contiguous()) {
        if (const diopiError_t error = require(ctx, y.shape, y.dtype, to); error != diopiSuccess) return error;
    }
    if (floating) {
        fill_steps(to, Dtype::float64, number<double>(*start), by);
    } else {
        fill_steps(to, Dtype::int64, number<uint64_t>(*start), number<uint64_t>(*step));
    }
    if (!y.is_contiguous()) copy(to, y);
    return diopiSuccess;
}

}  // namespace diopi::cpu
