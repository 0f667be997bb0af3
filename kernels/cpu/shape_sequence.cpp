/// Numbers at a regular distance.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/operands/shape.hpp"

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

}  // namespace

diopiError_t diopiArange(diopiContextHandle_t ctx, diopiTensorHandle_t out, const diopiScalar_t* start,
                         const diopiScalar_t* end, const diopiScalar_t* step) {
    const View y = view(out);
    if (const diopiError_t error = check_steps(__func__, y, *start, *end, *step); error != diopiSuccess) return error;
    View to = y;
    if (!y.is_contiguous()) {
        if (const diopiError_t error = require(ctx, y.shape, y.dtype, to); error != diopiSuccess) return error;
    }
    if (is_floating(y.dtype)) {
        fill_steps(to, Dtype::float64, number<double>(*start), number<double>(*step));
    } else {
        fill_steps(to, Dtype::int64, number<uint64_t>(*start), number<uint64_t>(*step));
    }
    if (!y.is_contiguous()) copy(to, y);
    return diopiSuccess;
}

}  // namespace diopi::cpu
